package fileid

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/tick"
)

// A rename keeps the identity; a copy has another one, also where it has the inode of what
// was removed.
func TestOf(t *testing.T) {
	root := t.TempDir()
	a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
	mkdir := func(path string) {
		t.Helper()
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if id := Of(a); id != "" {
		t.Errorf("nothing has the identity %q", id)
	}
	mkdir(a)
	id := Of(a)
	if err := os.Rename(a, b); err != nil {
		t.Fatal(err)
	}
	if !Renamed(id, a, b) {
		t.Errorf("%q renamed is %q", id, Of(b))
	}
	mkdir(a)
	if Of(a) == id || !Renamed(id, a, b) || Renamed(id, b, a) {
		t.Errorf("a copy is %q, as what it was made of", Of(a))
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	tick.Wait(t)
	mkdir(b)
	if Renamed(id, a, b) && strings.Contains(id, ".") { // the file system keeps the time of creation
		t.Errorf("what was made at the place of a removed directory is %q, too", id)
	}
	if Renamed("", a, b) {
		t.Error("renamed without an identity")
	}
}
