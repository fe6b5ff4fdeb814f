// Sbom writes what programs are made of, as a CycloneDX document, from what Go's
// linker has written into them: the modules with their versions and checksums, the
// standard library, and how they were built.
//
//	go run ./cmd/internal/sbom bin/agentform bin/agentform-shim > sbom.cdx.json
//
// It reads the programs and not go.mod, which also names what only tests need. The
// same programs give the same document.
package main
