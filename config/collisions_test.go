package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneFolderThroughALink: two paths of one directory are one workspace.
func TestOneFolderThroughALink(t *testing.T) {
	dir := t.TempDir()
	manifest := `
agent "x" {
  command = ["x"]
}
session "a" {
  agent = agent.x
  workspace {
    mode = "plain"
    path = "real/sub"
  }
}
session "b" {
  agent = agent.x
  workspace {
    mode = "plain"
    path = "link/sub"
  }
}
`
	err := os.WriteFile(filepath.Join(dir, "agentform.hcl"), []byte(manifest), 0o600)
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "real"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	load := func() string {
		var all []string
		_, problems := Load(Options{Dir: dir})
		for _, d := range problems {
			all = append(all, d.Summary)
		}
		return strings.Join(all, "; ")
	}
	if got := load(); strings.Contains(got, "used twice") {
		t.Fatalf("two folders: %s", got)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got := load(); !strings.Contains(got, "Workspace used twice") {
		t.Errorf("one folder: %s", got)
	}
}
