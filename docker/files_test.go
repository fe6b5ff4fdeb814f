package docker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestPrograms checks that the mounted programs are listed, and that an incomplete record is an
// error.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	if found, err := Programs(dir); err != nil || found != nil {
		t.Errorf("without a container %q, %v", found, err)
	}
	of := files{dataDir: dir}
	keep := func(id string, k record) {
		f := of.session(id)
		if err := os.MkdirAll(f.own, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := f.save(k); err != nil {
			t.Fatal(err)
		}
	}
	keep("a", record{Program: "/bin/shim-1"})
	keep("b", record{Program: "/bin/shim-2"})
	keep("adopted", record{Pane: "%0"})
	if found, err := Programs(dir); err != nil || !slices.Equal(found, []string{"/bin/shim-1", "/bin/shim-2"}) {
		t.Errorf("they are %q, %v", found, err)
	}
	keep("earlier", record{Container: "c"})
	if found, err := Programs(dir); err == nil {
		t.Errorf("with one that is not on record %q", found)
	}
	if err := os.Remove(filepath.Join(of.session("earlier").own, "mark.json")); err != nil {
		t.Fatal(err)
	}
	if found, err := Programs(dir); err == nil {
		t.Errorf("with one of which nothing is kept %q", found)
	}
}
