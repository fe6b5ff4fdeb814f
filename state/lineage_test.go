package state

import (
	"os"
	"path/filepath"
	"testing"
	"time"

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
