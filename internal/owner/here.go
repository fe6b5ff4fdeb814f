package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// Here returns the owner of what this process starts for a project.
func Here(project, dataDir, lineage string) session.Owner {
	host, _ := os.Hostname() // without one the machine's own id has to do
	return session.Owner{
		Host:         named(host),
		Machine:      machine(host),
		BootID:       shim.BootID(),
		PIDNamespace: pidNamespace(),
		UID:          os.Geteuid(),
		Project:      Resolve(project),
		DataDir:      Resolve(dataDir),
		Lineage:      lineage,
	}
}

func named(host string) string {
	if host == "" {
		return "localhost"
	}
	return host
}

// digest hides a machine's id, which is confidential, and keeps it comparable.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range append([]string{"agentform"}, parts...) {
		h.Write([]byte(p + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Resolve returns an absolute path without links, as far as it exists.
func Resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	for at, rest := abs, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if filepath.Dir(at) == at {
			return abs
		}
	}
}
