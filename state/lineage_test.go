package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/session"
)

func TestLineageOutlivesTheStateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	first := begin(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := Lineage(path); err != nil || got != first {
		t.Errorf("Lineage = %q, %v, want %q", got, err, first)
	}
	if again := begin(t, path); again != first {
		t.Errorf("the state begun anew has the lineage %q, want %q", again, first)
	}
}

func TestDamagedLineageIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(lineageOf(path), []byte("what?\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, "shop", "test", Holder{}, time.Second); err == nil {
		t.Error("a damaged lineage was taken up")
	}
}

// begin makes a state with one session and returns its lineage.
func begin(t *testing.T, path string) string {
	t.Helper()
	s, err := Open(t.Context(), path, "shop", "test", Holder{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Put(session.Record{ID: "a-1", Address: "session.a", Spec: session.Spec{Role: "default"}}); err != nil {
		t.Fatal(err)
	}
	return s.State().Lineage
}

func TestMoveIsOneChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	begin(t, path)
	s, err := Open(t.Context(), path, "shop", "test", Holder{}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := s.State().Sessions[0]
	r.Address = "session.b"
	before := s.State().Serial
	if err := s.Move("session.a", r); err != nil {
		t.Fatal(err)
	}
	st, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Sessions) != 1 || st.Sessions[0].Address != "session.b" || st.Sessions[0].ID != "a-1" || st.Serial != before+1 {
		t.Errorf("after the move: %+v, serial %d after %d", st.Sessions, st.Serial, before)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "agents", "default", "a-1", "state.json")); err != nil {
		t.Errorf("its mirror is gone: %v", err)
	}
}

func TestCopyIsRefusedAndAMoveIsNot(t *testing.T) {
	root := t.TempDir()
	home, copied := filepath.Join(root, "a", "state.json"), filepath.Join(root, "b", "state.json")
	begin(t, home)
	if err := os.CopyFS(filepath.Dir(copied), os.DirFS(filepath.Dir(home))); err != nil {
		t.Fatal(err)
	}
	var refused *CopiedError
	if _, err := Read(copied); !errors.As(err, &refused) || refused.Original != canonical(home) {
		t.Errorf("reading the copy: %v", err)
	}
	if _, err := Open(t.Context(), copied, "shop", "test", Holder{}, time.Second); !errors.As(err, &refused) {
		t.Errorf("opening the copy: %v", err)
	}
	if _, err := Read(home); err != nil {
		t.Errorf("reading the original: %v", err)
	}

	if err := os.RemoveAll(filepath.Dir(home)); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(copied); err != nil {
		t.Errorf("what was moved is refused: %v", err)
	}
	begin(t, copied)
	if k, err := identity(copied); err != nil || k.home != canonical(copied) {
		t.Errorf("it is at home in %q, %v", k.home, err)
	}
}

// The original is renamed, and a copy put in its place: the original is not taken for
// the copy, which somebody would delete.
func TestRenamedOriginalIsNoCopy(t *testing.T) {
	root := t.TempDir()
	home, renamed, other := filepath.Join(root, "a"), filepath.Join(root, "b"), filepath.Join(root, "c")
	lineage := begin(t, filepath.Join(home, "state.json"))
	st, err := Read(filepath.Join(home, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	st.Sessions[0].Owner = session.Owner{Host: "h", DataDir: home, DataDirID: fileid.Of(home)}
	if err := os.Rename(home, renamed); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{home, other} {
		if err := os.CopyFS(dir, os.DirFS(renamed)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Read(filepath.Join(renamed, "state.json")); err != nil || got.Lineage != lineage {
		t.Errorf("the renamed original is refused: %v", err)
	}
	if of := st.CopyOf(renamed); of != "" {
		t.Errorf("the renamed original is a copy of %s", of)
	}
	var refused *CopiedError
	if _, err := Read(filepath.Join(other, "state.json")); !errors.As(err, &refused) {
		t.Errorf("reading another copy: %v", err)
	}
	if of := st.CopyOf(other); of == "" {
		t.Error("another copy is not recognized by its records")
	}
}
