package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/session"
)

func openOwned(t *testing.T, path string, o session.Owner) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, "shop", "test", Holder{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.OwnedBy(o)
	return s
}

// The owner is that of the run: it is written when a run is new, and stays when
// another host writes the record.
func TestOwnerIsWrittenWithTheRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	put := func(s *Store, address session.Address, run string, stale session.Owner) {
		t.Helper()
		if err := s.Put(session.Record{ID: "a-1", Address: address, Run: session.Run{ID: run}, Owner: stale}); err != nil {
			t.Fatal(err)
		}
	}
	owner := func(s *Store) session.Owner { return s.State().Sessions[0].Owner }

	a := openOwned(t, path, session.Owner{Host: "a", UID: 7})
	put(a, "session.a", "r1", session.Owner{})
	first := owner(a)
	if first.Host != "a" || first.UID != 7 || first.Lineage != a.State().Lineage || first.DataDirID != fileid.Of(filepath.Dir(path)) {
		t.Errorf("a new run is owned by %+v", first)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}

	b := openOwned(t, path, session.Owner{Host: "b"})
	put(b, "session.a", "r1", session.Owner{})
	if owner(b) != first {
		t.Errorf("another host took the run over: %+v", owner(b))
	}
	if err := b.Move("session.a", session.Record{ID: "a-1", Address: "session.b", Run: session.Run{ID: "r1"}}); err != nil {
		t.Fatal(err)
	}
	if owner(b) != first {
		t.Errorf("moving a session gave its run to %+v", owner(b))
	}
	put(b, "session.b", "r2", first)
	if owner(b).Host != "b" {
		t.Errorf("the next run is owned by %+v", owner(b))
	}
	put(b, "session.b", "r2", first) // a record that was read before
	if owner(b).Host != "b" {
		t.Errorf("a stale record changed the owner to %+v", owner(b))
	}
}

func TestCopyOf(t *testing.T) {
	root := t.TempDir()
	home, other := filepath.Join(root, "home", ".agentform"), filepath.Join(root, "other", ".agentform")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	lineage := begin(t, filepath.Join(home, "state.json"))
	owned := State{Lineage: lineage, Sessions: []session.Record{{Owner: session.Owner{Host: "a", DataDir: home}}}}
	foreign := owned
	foreign.Lineage = "another"
	original := filepath.Join(home, "state.json")
	check := func(what string, st State, dataDir, want string) {
		t.Helper()
		if got := st.CopyOf(dataDir); got != want {
			t.Errorf("%s: a copy of %q, want %q", what, got, want)
		}
	}
	check("the original", owned, home, "")
	check("a copy", owned, other, original)
	check("another project's sessions", foreign, other, "")
	if err := os.Remove(lineageOf(original)); err != nil {
		t.Fatal(err)
	}
	check("a copy of one without its lineage file", owned, other, original)
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	check("a moved directory", owned, other, "")
}
