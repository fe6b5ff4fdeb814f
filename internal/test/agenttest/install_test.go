package agenttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/executable"
)

// TestInstallTwice checks that a second installation of the agents that ends after the first
// leaves that as it is.
func TestInstallTwice(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	executable.Write(t, filepath.Join(bin, "node"), []byte("#!/bin/sh\necho 22\n"), 0o755)
	// RIVAL is the folder that another installation moves its own to meanwhile.
	executable.Write(t, filepath.Join(bin, "npm"), []byte("#!/bin/sh\nmkdir node_modules\nif [ -n \"$RIVAL\" ]; then mkdir \"$RIVAL\" \"$RIVAL/node_modules\"; fi\n"), 0o755)
	install := func(rival string) string {
		cmd := exec.Command("sh", "../../../scripts/agents.sh")
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "XDG_CACHE_HOME="+cache, "RIVAL="+rival)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	folder := install("")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if got := install(folder); got != folder {
		t.Errorf("it is in %s, not %s", got, folder)
	}
	for dir, want := range map[string]string{folder: "node_modules", filepath.Dir(folder): filepath.Base(folder)} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != want {
			t.Errorf("%s has %v (%v), want %s alone", dir, entries, err, want)
		}
	}
}
