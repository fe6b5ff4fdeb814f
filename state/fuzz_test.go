package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/fileid"
)

// FuzzLineage: whatever stands beside a state file, it is either a lineage or an
// error that names the file; and one that is kept is found again.
func FuzzLineage(f *testing.F) {
	f.Add([]byte("0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a\n/home/me/.agentform/state.json\n"))
	f.Add([]byte("0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a"))
	f.Add([]byte("0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a\n/home/me/two\nlines/state.json\n2a.18bf\n"))
	f.Add([]byte("x\n\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "state.json")
		if err := os.WriteFile(lineageOf(path), b, 0o600); err != nil {
			t.Fatal(err)
		}
		lineage, err := Lineage(path)
		switch {
		case err != nil && !strings.Contains(err.Error(), lineageOf(path)):
			t.Errorf("the error does not name the file: %v", err)
		case err != nil:
			return
		case !lineageForm.MatchString(lineage):
			t.Fatalf("the lineage is %q", lineage)
		}
		if err := keepLineage(path, lineage); err != nil {
			t.Fatal(err)
		}
		want := lineageFile{lineage, canonical(path), fileid.Of(filepath.Dir(path))}
		if again, err := identity(path); err != nil || again != want {
			t.Errorf("kept, it is %q, want %q, %v", again, want, err)
		}
	})
}

// FuzzHolder: the name of who holds a lock is for people; whatever stands there, it
// is read, soon.
func FuzzHolder(f *testing.F) {
	f.Add([]byte(`{"pid":1,"user":"me","command":"apply"}`))
	f.Add([]byte(`{"pid":-1e300}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "lock")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		readHolder(path)
	})
}
