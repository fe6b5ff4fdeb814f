package preflight

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/session"
)

// Certificates returns the errors in the files of certificates for remote Docker engines in use.
func (h Host) Certificates(how session.Severity) []session.Diagnostic {
	needed := map[string][]session.Address{} // by the runtime's key
	for _, s := range h.Manifest.Sessions {
		if _, declared := h.Manifest.Certificates[s.Runtime.Key()]; declared {
			needed[s.Runtime.Key()] = append(needed[s.Runtime.Key()], s.Address)
		}
	}
	var found []session.Diagnostic
	for _, key := range slices.Sorted(maps.Keys(needed)) {
		report := func(how session.Severity, summary, detail string) {
			at := h.Manifest.Certificates[key]
			found = append(found, session.Diagnostic{Severity: how, Summary: summary, Detail: detail + neededBy(needed[key]), Range: &at})
		}
		spec := h.Manifest.Runtimes[key].Docker
		c := docker.Config{Host: spec.Host, CertPath: spec.CertPath}
		if err := c.CheckCertificates(); err != nil {
			report(how, "the engine "+spec.Host+" cannot be reached with these certificates", strings.TrimSpace(err.Error()))
		}
		if path, mode, is := c.ReadableKey(); is {
			report(session.Warning, "other users of this machine can read a private key",
				fmt.Sprintf("%s has the permissions %#o, and whoever has it is root on the engine's machine: chmod 600 %[1]s", path, mode))
		}
	}
	return found
}
