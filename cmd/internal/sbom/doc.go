// Sbom writes a CycloneDX document about programs from what Go's linker wrote into them: the
// modules with their versions and checksums, the standard library, and the build settings.
//
//	go run ./cmd/internal/sbom bin/agentform bin/agentform-shim > sbom.cdx.json
//
// It does not read go.mod, which also has the modules of tests. The same programs give the
// same document.
package main
