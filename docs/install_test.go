package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestInstall checks that nothing installs cmd/..., which also has the tools of this
// repository: cmd/agentform... is its two programs.
func TestInstall(t *testing.T) {
	all := regexp.MustCompile(`install .*\bcmd/\.\.\..*`)
	for _, root := range []string{"../README.md", "../Makefile", "../examples/ci", "../cmd", "../docker", "../kubernetes", "../internal/shim"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if line := all.FindString(string(text)); line != "" {
				t.Errorf("%s: %s", path, line)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
