package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func record(name string) session.Record {
	a := session.Single(name)
	return session.Record{
		ID: "id-" + name, Address: a, Origin: session.FromManifest, CreatedAt: when, UpdatedAt: when,
		Spec: session.Spec{
			Address: a, Role: "builder", Desired: session.Running, Branch: "agent/" + name,
			Agent:     session.AgentSpec{Name: "claude", Command: []string{"claude"}, PromptVia: "argument"},
			Env:       map[string]string{"A": "1"},
			Workspace: session.Workspace{Mode: session.Worktree, Repo: "/repo", Path: "/repo/.agentform/workspaces/" + name, OnDestroy: session.Keep},
			Runtime:   session.RuntimeSpec{Kind: "tmux"},
		},
		Tree: session.WorkspaceState{Path: "/repo/.agentform/workspaces/" + name, Mode: session.Worktree, Branch: "agent/" + name},
	}
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, "demo", "1.2.3", Holder{PID: os.Getpid(), User: "ann", Host: "box", Command: "agentform apply"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t *testing.T, s *Store, rs ...session.Record) {
	t.Helper()
	for _, r := range rs {
		if err := s.Put(r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPutAndDelete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "state.json")
	s := open(t, path)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open alone has written the state: %v", err)
	}
	put(t, s, record("b"), record("a"))
	st, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if st.Version != 1 || st.Serial != 2 || st.Project != "demo" || st.Agentform != "1.2.3" || len(st.Lineage) != 36 {
		t.Errorf("state = %+v", st)
	}
	if d := cmp.Diff([]session.Record{record("a"), record("b")}, st.Sessions); d != "" {
		t.Errorf("sessions (-want +got):\n%s", d)
	}
	if d := cmp.Diff(st, s.State()); d != "" {
		t.Errorf("State() is not what the file says (-file +State):\n%s", d)
	}
	put(t, s, record("a"))
	if n := s.State().Serial; n != 2 {
		t.Errorf("serial %d after a Put that changed nothing, want 2", n)
	}
	for range 2 {
		if err := s.Delete("session.b"); err != nil {
			t.Fatal(err)
		}
	}
	if st := s.State(); st.Serial != 3 || len(st.Sessions) != 1 {
		t.Errorf("after Delete: serial %d, %d sessions, want 3 and 1", st.Serial, len(st.Sessions))
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "state.json": 0o600, "state.json.lock": 0o600, "agents": 0o700, "agents/builder/id-a": 0o700, "agents/builder/id-a/state.json": 0o600} {
		if fi, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%q: %v, %v, want mode %v", name, fi.Mode(), err, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(record("c")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Put after Close = %v, want os.ErrClosed", err)
	}
	again := open(t, path)
	if got := again.State().Lineage; got != st.Lineage {
		t.Errorf("lineage %s became %s", st.Lineage, got)
	}
}

func TestPutRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := open(t, path)
	bad := map[string]func(*session.Record){
		"address":  func(r *session.Record) { r.Address = "worker" },
		"no id":    func(r *session.Record) { r.ID = "" },
		"id":       func(r *session.Record) { r.ID = "a/../../b" },
		"unstored": func(r *session.Record) { r.Spec.Restart.Backoff.Factor = math.NaN() },
	}
	for name, spoil := range bad {
		r := record("x")
		spoil(&r)
		if err := s.Put(r); err == nil {
			t.Errorf("%s: Put took it", name)
		}
	}
	if _, err := Read(path); !errors.Is(err, ErrNone) {
		t.Errorf("a refused record has been written: %v", err)
	}
}

// Neither what was put nor what State returned is connected with the store.
func TestCopies(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.json"))
	r := record("a")
	r.Override = &session.Override{By: "ann"}
	put(t, s, r)
	r.Spec.Env["A"] = "2"
	st := s.State()
	st.Sessions[0].LastError = "mine"
	st.Sessions[0].Override.By = "bob"
	got := s.State().Sessions[0]
	if got.Spec.Env["A"] != "1" || got.LastError != "" || got.Override.By != "ann" {
		t.Errorf("the store's record has changed: %+v", got)
	}
}

// Changes that come together share writes, and each is in the file when its
// Put returns.
func TestGroupCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := open(t, path)
	const n = 200
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			r := record(fmt.Sprintf("s%d", i))
			if err := s.Put(r); err != nil {
				t.Error(err)
			}
			if i%20 != 0 {
				return
			}
			st, err := Read(path)
			if err != nil {
				t.Error(err)
			}
			found := false
			for _, x := range st.Sessions {
				found = found || x.Address == r.Address
			}
			if !found {
				t.Errorf("%s is not in the file after its Put", r.Address)
			}
		})
	}
	wg.Wait()
	st, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Sessions) != n || st.Serial == 0 || st.Serial > n/2 {
		t.Errorf("%d sessions in %d writes, want %d in far fewer", len(st.Sessions), st.Serial, n)
	}
	if err := s.MirrorErr(); err != nil {
		t.Error(err)
	}
}

func TestBackup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s := open(t, path)
	put(t, s, record("a"), record("b"))
	s.Close()
	if _, err := os.Stat(path + ".backup"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a backup of nothing: %v", err)
	}
	s = open(t, path)
	put(t, s, record("c"), record("d"))
	s.Close()
	open(t, path).Close() // looking makes none
	was, err := Read(path + ".backup")
	if err != nil || was.Serial != 2 || len(was.Sessions) != 2 {
		t.Errorf("backup = serial %d with %d sessions, %v, want the 2 of serial 2", was.Serial, len(was.Sessions), err)
	}
}

// A writer that was killed leaves a temporary file; the next one removes it,
// and nothing else.
func TestSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a-z]*")
	path := filepath.Join(dir, "state.json")
	s := open(t, path)
	put(t, s, record("a"))
	s.Close()
	left, other := filepath.Join(dir, ".state.json123456"), filepath.Join(dir, ".state.json.mine")
	for _, f := range []string{left, other} {
		if err := os.WriteFile(f, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, path)
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.json")
		first := open(t, path)
		_, err := Open(t.Context(), path, "demo", "1", Holder{PID: 1, User: "bob"}, 30*time.Millisecond)
		var locked *LockedError
		if !errors.As(err, &locked) || locked.Holder.User != "ann" || locked.Holder.PID != os.Getpid() {
			t.Fatalf("second Open = %v, want a LockedError that names ann", err)
		}
		for _, want := range []string{path, "ann", "box", `"agentform apply"`, "since 2", "--lock-timeout"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not say %q", err, want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err = Open(ctx, path, "demo", "1", Holder{}, time.Hour)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &locked) {
			t.Errorf("Open with a context that ends = %v", err)
		}
		locks := func(path string) bool { _, held := HeldBy(path); return held }
		if !locks(path) || locks(path+".other") {
			t.Error("whether it is locked cannot be told")
		}
		// The one who waits gets it when it is free.
		time.AfterFunc(50*time.Millisecond, func() { first.Close() })
		second, err := Open(t.Context(), path, "demo", "1", Holder{PID: 7, User: "bob"}, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if h := readHolder(path + ".lock"); h.User != "bob" || h.Since.IsZero() {
			t.Errorf("the lock file names %+v, want bob", h)
		}
		second.Close()
		if locks(path) {
			t.Error("it is locked after all are done")
		}
		if _, err := os.Stat(path + ".lock"); err != nil {
			t.Errorf("the lock file was removed: %v", err)
		}
		if h := readHolder(path + ".lock"); h != (Holder{}) {
			t.Errorf("the lock file names %+v when nobody holds it", h)
		}
	})
}

func TestMirror(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "state.json"))
	r := record("a")
	put(t, s, r)
	was := Folder(dir, r)
	if err := os.WriteFile(filepath.Join(was, "events.jsonl"), []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Spec.Role = "../re view/er"
	put(t, s, r)
	now := Folder(dir, r)
	if filepath.Dir(filepath.Dir(now)) != filepath.Join(dir, "agents") {
		t.Fatalf("the role leads out of the folder: %s", now)
	}
	if _, err := os.Stat(was); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", was, err)
	}
	for _, f := range []string{"events.jsonl", "state.json"} {
		if _, err := os.Stat(filepath.Join(now, f)); err != nil {
			t.Error(err)
		}
	}
	// A record that becomes shorter is still one document, and one that is whole.
	r.LastError = strings.Repeat("long ", 100)
	put(t, s, r)
	r.LastError = ""
	put(t, s, r)
	var mirrored session.Record
	if b, err := os.ReadFile(filepath.Join(now, "state.json")); err != nil {
		t.Error(err)
	} else if err := json.Unmarshal(b, &mirrored); err != nil || cmp.Diff(r, mirrored) != "" {
		t.Errorf("the mirror has %s (%v)", b, err)
	}
	// A session that is replaced, and one that is forgotten, keep their directory
	// and history.
	next := r
	next.ID = "id-next"
	put(t, s, next)
	if err := s.Delete(next.Address); err != nil {
		t.Fatal(err)
	}
	for _, r := range []session.Record{r, next} {
		if _, err := os.Stat(filepath.Join(Folder(dir, r), "state.json")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s still has a record: %v", r.ID, err)
		}
	}
	if _, err := os.Stat(filepath.Join(now, "events.jsonl")); err != nil {
		t.Error(err)
	}
	if err := s.MirrorErr(); err != nil {
		t.Fatal(err)
	}
	// Elsewhere, and in the way of a file: the record is durable all the same.
	s.MirrorTo(filepath.Join(dir, "state.json"))
	put(t, s, record("b"))
	if err := s.MirrorErr(); err == nil || !strings.Contains(err.Error(), "session.b") {
		t.Errorf("MirrorErr = %v, want the failure for session.b", err)
	}
	s.MirrorTo(filepath.Join(dir, "out"))
	put(t, s, record("c"))
	if _, err := os.Stat(filepath.Join(dir, "out", "builder", "id-c", "state.json")); err != nil {
		t.Error(err)
	}
	if n := len(s.State().Sessions); n != 2 {
		t.Errorf("%d sessions on record, want 2", n)
	}
}

func TestBlobs(t *testing.T) {
	b := Blobs{Dir: filepath.Join(t.TempDir(), "blobs")}
	for _, text := range []string{"", "do it\n", strings.Repeat("x", 1<<20)} {
		digest, err := b.Put(text)
		if err != nil {
			t.Fatal(err)
		}
		if text != "" && digest != session.PromptOf(text).Digest {
			t.Errorf("digest %s is not the prompt's", digest)
		}
		if got, err := b.Get(digest); err != nil || got != text {
			t.Errorf("Get = %d bytes, %v, want the %d put", len(got), err, len(text))
		}
		path := filepath.Join(b.Dir, digest)
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v, want mode 0600", fi.Mode(), err)
		}
		if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Get(digest); err == nil || !strings.Contains(err.Error(), "was changed") {
			t.Errorf("Get of a changed text = %v", err)
		}
		if _, err := b.Put(text); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Get(digest); err != nil || got != text {
			t.Errorf("Put did not mend it: %v", err)
		}
	}
	if _, err := b.Get(strings.Repeat("0", 64)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Get of what was never put = %v", err)
	}
	for _, digest := range []string{"", "../state.json", strings.Repeat("z", 64)} {
		if _, err := b.Get(digest); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("Get(%q) = %v, want: no sha256", digest, err)
		}
	}
}

// TestReadNamed returns the named records as Read does, also those of the journal.
func TestReadNamed(t *testing.T) {
	var records []session.Record
	for _, name := range []string{`session.s[1]`, `session.s[11]`, `session.web["a<b"]`, `session.other`} {
		records = append(records, session.Record{Address: session.Address(name), ID: "x"})
	}
	path := filepath.Join(t.TempDir(), "state.json")
	s := open(t, path)
	put(t, s, records[:2]...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, open(t, path), records[2:]...)
	whole, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`session.s[1]`, `s[1]`, `web["a<b"]`, "other"} {
		got, err := ReadNamed(path, name)
		if err != nil || got.Lineage != whole.Lineage || got.Serial != whole.Serial {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		for _, r := range whole.Sessions {
			if r.Address.Short() == strings.TrimPrefix(name, "session.") && !slices.ContainsFunc(got.Sessions, func(x session.Record) bool { return x.Address == r.Address }) {
				t.Errorf("%s: not among %v", name, got.Sessions)
			}
		}
	}
}

// TestWriteErrorNamesTheFileOnce also where the system names a temporary file.
func TestWriteErrorNamesTheFileOnce(t *testing.T) {
	err := writeError("/p/state.json", fmt.Errorf("close: %w", &os.PathError{Op: "write", Path: "/p/.state.json1", Err: syscall.ENOSPC}))
	if err.Error() != "write /p/state.json: no space left on device" || !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}
