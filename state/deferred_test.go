package state

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What could not be written is seen by readers and by the next store, and goes into the
// state file with the next write. It counts for no other state.
func TestDeferredChanges(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "data", "state.json")
	s := open(t, path)
	for _, name := range []string{"a", "b", "c"} {
		if err := s.Put(record(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	s = open(t, path)
	stopped := record("a")
	stopped.LastError = "deferred"
	if err := s.Defer(stopped); err != nil {
		t.Fatal(err)
	}
	if err := s.DeferDelete("session.b"); err != nil {
		t.Fatal(err)
	}
	as := func(name string, st State) {
		t.Helper()
		if len(st.Sessions) != 2 || st.Sessions[0].LastError != "deferred" || st.Sessions[1].Address != "session.c" {
			t.Errorf("%s: %v", name, st.Sessions)
		}
	}
	as("the store", s.State())
	serial := s.State().Serial
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	read, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	as("a reader", read)
	if now, err := Serial(path); err != nil || now != serial || read.Serial != serial {
		t.Errorf("serial %d and %d, %v, want %d", now, read.Serial, err, serial)
	}
	if now, _ := os.ReadFile(path); string(now) != string(before) {
		t.Error("the state file was written")
	}

	s = open(t, path) // there is room again
	as("the next store", s.State())
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "agentform", "*", "state-*")); len(left) > 0 {
		t.Errorf("still deferred: %v", left)
	}
	if read, err = Read(path); err != nil || read.Serial <= serial {
		t.Fatalf("serial %d, %v", read.Serial, err)
	}
	as("on disk", read)

	// An older state that is put back has nothing deferred.
	s = open(t, path)
	if err := s.DeferDelete("session.c"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, before, 0o600); err != nil {
		t.Fatal(err)
	}
	if read, err = Read(path); err != nil || len(read.Sessions) != 3 {
		t.Errorf("%v, %v", read.Sessions, err)
	}
}

// A named pipe in the place of a file of the state is an error, for every command. None
// waits for somebody to write into it.
func TestStateFilesThatAreNoFiles(t *testing.T) {
	for _, name := range []string{"state.json", "state.json.journal", "state.json.lineage"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.json")
			s := open(t, path)
			if err := s.Put(record("a")); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(filepath.Dir(path), name)
			_ = os.Remove(file)
			if err := syscall.Mkfifo(file, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Read(path); err == nil {
				t.Error("it was read")
			}
			if _, err := Open(t.Context(), path, "shop", "1", Holder{}, 0); err == nil {
				t.Error("it was opened")
			}
		})
	}
}
