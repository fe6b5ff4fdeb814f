//go:build real

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocument checks that the document lists what is linked into the programs, with the checksums
// of go.sum, once, and that it is reproducible.
func TestDocument(t *testing.T) {
	bin := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-o", bin+"/", "../../../cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	programs := []string{filepath.Join(bin, "agentform"), filepath.Join(bin, "agentform-shim")}
	var first, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &again} {
		if err := run(w, programs); err != nil {
			t.Fatal(err)
		}
	}
	if first.String() != again.String() {
		t.Error("two documents differ")
	}
	var d document
	if err := json.Unmarshal(first.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range d.Components {
		if listed[c.Ref] || c.Version == "" || !strings.HasPrefix(c.PURL, "pkg:golang/"+c.Name+"@") {
			t.Errorf("component %+v", c)
		}
		if c.Name != "std" && (len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64) {
			t.Errorf("%s has the hashes %v", c.Name, c.Hashes)
		}
		listed[c.Ref] = true
	}
	for _, dep := range d.Dependencies {
		for _, on := range dep.On {
			if !listed[on] {
				t.Errorf("%s depends on %s, which is not listed", dep.Ref, on)
			}
		}
	}
	// The shim only uses the standard library.
	shim := d.Dependencies[1]
	if len(d.Metadata.Component.Components) != 2 || len(shim.On) != 1 || !strings.HasPrefix(shim.On[0], "pkg:golang/std@1.") {
		t.Errorf("the shim depends on %v", shim.On)
	}
	if len(d.Components) < 20 || strings.Contains(first.String(), "pgregory.net/rapid") {
		t.Errorf("%d components, and those of tests: %v", len(d.Components), strings.Contains(first.String(), "rapid"))
	}
}
