//go:build real

package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoBlocks builds every Go program that stands in a document.
func TestGoBlocks(t *testing.T) {
	dir, err := os.MkdirTemp("testdata", "go-") // within the module, and no package of it to those who list them
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	n := 0
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks(t, path, string(text)) {
			if b.lang != "go" || !strings.HasPrefix(b.text(), "package main") {
				continue
			}
			n++
			if strings.Contains(b.text(), "os.Interrupt)") {
				t.Errorf("%s: SIGTERM ends the program and not its agents", b.at)
			}
			program := filepath.Join(dir, fmt.Sprint(n))
			if err := os.Mkdir(program, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(program, "main.go"), []byte(b.text()), 0o644); err != nil {
				t.Fatal(err)
			}
			c := exec.Command("go", "build", "-o", os.DevNull, "./"+program)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", b.at, err, out)
			}
		}
	}
	if n == 0 {
		t.Error("no document has a Go program")
	}
}
