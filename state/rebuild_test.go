package state

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

func TestMirrorsAreReadBack(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	s := openOwned(t, path, session.Owner{Host: "a", DataDir: dir})
	at := time.Now().UTC().Truncate(time.Second)
	records := []session.Record{
		{ID: "a-1", Address: "session.a", Run: session.Run{ID: "r1", StartedAt: at, ReadyAt: at}, Spec: session.Spec{Role: "builder", Desired: session.Running}},
		{ID: "b-1", Address: "session.b", Origin: session.FromRun, Run: session.Run{ID: "r2", StartedAt: at, EndedAt: at}, Spec: session.Spec{Desired: session.Running},
			Override: &session.Override{Desired: session.Stopped, By: "dev", At: at}},
	}
	for _, r := range records {
		if err := s.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	want := s.State().Sessions
	// What a person or an agent puts there instead.
	in := filepath.Join(dir, "agents", "default")
	for _, name := range []string{"fifo-1", "text-1", "c-1"} {
		if err := os.MkdirAll(filepath.Join(in, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	err := syscall.Mkfifo(filepath.Join(in, "fifo-1", "state.json"), 0o600)
	if err == nil {
		err = os.WriteFile(filepath.Join(in, "text-1", "state.json"), []byte("{"), 0o600)
	}
	if err == nil { // another session's copy
		var b []byte
		if b, err = os.ReadFile(filepath.Join(in, "b-1", "state.json")); err == nil {
			err = os.WriteFile(filepath.Join(in, "c-1", "state.json"), b, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}

	found, damaged := Mirrors(filepath.Join(dir, "agents"))
	if len(found) != 2 || len(damaged) != 3 {
		t.Fatalf("found %v, damaged %v", found, damaged)
	}
	for _, m := range found {
		i := slices.IndexFunc(want, func(r session.Record) bool { return r.ID == m.Record.ID })
		if i < 0 || m.Record.Owner != want[i].Owner || m.Record.Origin != want[i].Origin {
			t.Errorf("%s: %+v", m.Path, m.Record)
		}
		if o := m.Record.Override; m.Record.Address == "session.b" && (o == nil || o.By != "dev") {
			t.Errorf("the override is %+v", o)
		}
	}
}

func TestRebuildKeepsWhatWasThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for _, file := range []string{path, JournalOf(path), lineageOf(path)} {
		if err := os.WriteFile(file, []byte("garbage of "+filepath.Base(file)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st := State{Version: Version, Serial: 3, Lineage: NewLineage(), Sessions: []session.Record{{ID: "a-1", Address: "session.a"}}}
	backups, err := Rebuild(t.Context(), path, st, Sum(path), Holder{}, time.Second)
	if err != nil || len(backups) != 3 {
		t.Fatal(backups, err)
	}
	for _, b := range backups {
		if text, err := os.ReadFile(b); err != nil || !strings.HasPrefix(string(text), "garbage of state.json") {
			t.Errorf("%s: %s, %v", b, text, err)
		}
	}
	got, err := Read(path)
	if err != nil || got.Lineage != st.Lineage || len(got.Sessions) != 1 {
		t.Errorf("the rebuilt state: %+v, %v", got, err)
	}
}

// What another command wrote between the look and the answer to the question is not lost.
func TestRebuildRefusesWhatWasWrittenMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	st := State{Version: Version, Serial: 3, Lineage: NewLineage()}
	seen := Sum(path)
	for i, write := range []func(s *Store) error{
		func(s *Store) error { return s.Put(session.Record{ID: "a-1", Address: "session.a"}) },
		func(s *Store) error { return s.Put(session.Record{ID: "b-1", Address: "session.b"}) }, // into the journal
	} {
		s, err := Open(t.Context(), path, "p", "v", Holder{}, time.Second)
		if err == nil {
			err = write(s)
		}
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		before, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		if backups, err := Rebuild(t.Context(), path, st, seen, Holder{}, time.Second); err == nil || len(backups) > 0 {
			t.Errorf("write %d: Rebuild = %v, %v", i, backups, err)
		}
		if after, err := Read(path); err != nil || after.Serial != before.Serial || len(after.Sessions) != i+1 {
			t.Errorf("write %d: the state is now %+v, %v", i, after, err)
		}
		seen = Sum(path)
	}
	// A FIFO in its place makes nobody wait.
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Rebuild(t.Context(), path, st, Sum(path), Holder{}, time.Second); err == nil {
		t.Error("Rebuild replaced a FIFO")
	}
}

// The copies of the records know the lineage where both files with it are lost, but not
// after they were copied elsewhere.
func TestLineageOutlivesBothFiles(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "home", "state.json")
	s := openOwned(t, path, session.Owner{Host: "a", DataDir: filepath.Dir(path)})
	if err := s.Put(session.Record{ID: "a-1", Address: "session.a"}); err != nil {
		t.Fatal(err)
	}
	want := s.State().Lineage
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, lineageOf(path)} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Lineage(path); err != nil || got != want {
		t.Errorf("Lineage = %q, %v, want %q", got, err, want)
	}
	copied := filepath.Join(root, "copy")
	if err := os.CopyFS(copied, os.DirFS(filepath.Dir(path))); err != nil {
		t.Fatal(err)
	}
	if got, err := Lineage(filepath.Join(copied, "state.json")); err != nil || got != "" {
		t.Errorf("the copy's lineage is %q, %v", got, err)
	}
}
