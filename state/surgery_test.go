package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

func simple(name string) session.Record {
	a := session.Single(name)
	return session.Record{ID: name + "-1", Address: a, Origin: session.FromManifest, Spec: session.Spec{Address: a, Role: "default"}}
}

func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, "shop", "test", Holder{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestPush(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := opened(t, path)
	for _, name := range []string{"a", "b"} {
		if err := s.Put(simple(name)); err != nil {
			t.Fatal(err)
		}
	}
	backup, err := s.Backup()
	if err != nil || backup != path+".2.backup" {
		t.Fatalf("backed up to %q, %v", backup, err)
	}
	text, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	edited := pulled
	edited.Sessions = []session.Record{simple("b"), simple("c")}
	if err := s.Push(edited, false); err != nil {
		t.Fatal(err)
	}
	on, err := Read(path)
	if err != nil || on.Serial != 3 || on.Lineage != pulled.Lineage || len(on.Sessions) != 2 || on.Sessions[1].Address != "session.c" {
		t.Errorf("on disk: %+v, %v", on, err)
	}
	if got := s.State(); cmp.Diff(on, got) != "" {
		t.Errorf("the store says otherwise: %s", cmp.Diff(on, got))
	}
	for name, there := range map[string]bool{"a": false, "b": true, "c": true} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "agents", "default", name+"-1", "state.json")); (err == nil) != there {
			t.Errorf("the copy in %s's folder: %v", name, err)
		}
	}
	// What was pulled before is older now.
	var stale *StaleError
	if err := s.Push(pulled, false); !errors.As(err, &stale) || stale.Lineage || !strings.Contains(err.Error(), "serial 2 instead of 3") {
		t.Errorf("an older one: %v", err)
	}
	other := edited
	other.Lineage, other.Serial = "11111111-1111-4111-8111-111111111111", 99
	if err := s.Push(other, false); !errors.As(err, &stale) || !stale.Lineage {
		t.Errorf("another lineage: %v", err)
	}
	if on, _ := Read(path); on.Serial != 3 {
		t.Error("a refused push changed the state")
	}
	if err := s.Push(other, true); err != nil {
		t.Fatal(err)
	}
	on, _ = Read(path)
	if l, err := Lineage(path); on.Lineage != other.Lineage || on.Serial != 100 || l != other.Lineage || err != nil {
		t.Errorf("forced: %+v, %s, %v", on, l, err)
	}
	// Into a project that has none yet.
	fresh := opened(t, filepath.Join(t.TempDir(), "state.json"))
	if backup, err := fresh.Backup(); backup != "" || err != nil {
		t.Errorf("backed up what is not there: %q, %v", backup, err)
	}
	if err := fresh.Push(edited, false); err != nil || fresh.State().Lineage != edited.Lineage {
		t.Errorf("into nothing: %v", err)
	}
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"":              "empty",
		"{":             "unexpected end",
		`{"version":1}`: "no lineage",
		`{"version":9}`: "format 9",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Format 1 as agentform 0.1.0 wrote it. Whatever the format is by now, it must be
// read, nothing in it may be lost, and the first write must be readable again.
// Never change the file: it stands on people's disks.
func TestReadsFormat1(t *testing.T) {
	text, err := os.ReadFile("testdata/format-1.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := opened(t, path)
	st := s.State()
	if st.Serial != 41 || st.Lineage != "5b0c9d1e-3f41-4a8e-9d55-0c6b2f7a8e90" || len(st.Sessions) != 3 {
		t.Fatalf("read %+v", st)
	}
	r := st.Sessions[2]
	want := session.Keyed("worker", "a.b")
	if r.Address != want || r.Origin != session.FromManifest || r.Intent != session.Restarting || r.Location.Pane != "%3" ||
		r.Run.Agent != (session.Process{PID: 4711, Start: 987654}) || r.Run.Conversation != "c0ffee" || !r.Tree.Created || !r.Tree.Made ||
		r.Override == nil || r.Override.By != "ada" || r.LastError == "" || r.Spec.Restart.Backoff.Factor != 2 ||
		r.Spec.Health.Heartbeat == nil || r.Spec.Stop.Grace.String() != "10s" || r.Spec.Prompt.Digest == "" || r.Spec.Labels["team"] != "shop" {
		t.Errorf("read %+v", r)
	}
	if st.Sessions[0].Origin != session.FromAdopt || st.Sessions[1].Origin != session.FromRun {
		t.Errorf("origins: %s, %s", st.Sessions[0].Origin, st.Sessions[1].Origin)
	}
	// A write of one record leaves the others as they were, to the last field.
	if err := s.Put(simple("new")); err != nil {
		t.Fatal(err)
	}
	again, err := Read(path)
	if err != nil || again.Version != Version {
		t.Fatalf("after a write: %+v, %v", again, err)
	}
	for _, r := range st.Sessions {
		now, known := s.record(r.Address)
		if !known || cmp.Diff(r, now) != "" {
			t.Errorf("%s was changed by another's write: %s", r.Address, cmp.Diff(r, now))
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(backupOf(path))
	if err != nil || string(old) != string(text) {
		t.Errorf("the old file was not kept: %v", err)
	}
}
