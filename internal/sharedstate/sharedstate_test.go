package sharedstate_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// memory is a backend in memory. Its faults are set by tests.
type memory struct {
	mu     sync.Mutex
	text   []byte
	serial int
	holder backend.Info
	lease  time.Duration
	fail   func(call string) error // nil: nothing fails
	writes int
}

func (m *memory) fault(call string) error {
	if m.fail == nil {
		return nil
	}
	return m.fail(call)
}

func (m *memory) version() backend.Version {
	if m.text == nil {
		return ""
	}
	return backend.Version(strings.Repeat("x", m.serial))
}

func (m *memory) Read(context.Context) ([]byte, backend.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("read"); err != nil {
		return nil, "", err
	}
	if m.text == nil {
		return nil, "", backend.ErrNone
	}
	return m.text, m.version(), nil
}

func (m *memory) Write(_ context.Context, text []byte, seen backend.Version, id string) (backend.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("write"); err != nil {
		return "", err
	}
	if m.holder.ID != id {
		return "", &backend.LostError{Holder: m.holder}
	}
	if m.version() != seen {
		return "", &backend.ChangedError{Seen: seen, Found: m.version()}
	}
	m.text, m.serial = text, m.serial+1
	m.writes++
	return m.version(), nil
}

func (m *memory) Lock(_ context.Context, i backend.Info) (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.fault("lock"); err != nil {
		return 0, err
	}
	if m.holder.ID != "" && m.holder.ID != i.ID {
		return 0, &backend.HeldError{Holder: m.holder}
	}
	m.holder = i
	return m.lease, nil
}

func (m *memory) Unlock(_ context.Context, i backend.Info) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder.ID != "" && m.holder.ID != i.ID {
		return &backend.LostError{Holder: m.holder}
	}
	m.holder = backend.Info{}
	return nil
}

func (m *memory) Holder(context.Context) (backend.Info, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holder.ID == "" {
		return m.holder, backend.ErrNone
	}
	return m.holder, nil
}

// host is a machine with a copy.
type host struct {
	*sharedstate.Copy
	t *testing.T
}

func newHost(t *testing.T, name string, b backend.Backend) host {
	dir := t.TempDir()
	return host{&sharedstate.Copy{
		Path: filepath.Join(dir, "state.json"), Backend: b, Name: "memory", Blobs: state.Blobs{Dir: filepath.Join(dir, "blobs")},
		Owner:   session.Owner{Host: name, Machine: name, BootID: name, DataDir: dir},
		Project: "shop", Version: "0.1.0", Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, t}
}

func (h host) open() *state.Store {
	h.t.Helper()
	store, err := h.Open(h.t.Context(), sharedstate.Opening{Who: state.Holder{User: "tester", Host: h.Owner.Host, Command: "agentform apply"}})
	if err != nil {
		h.t.Fatal(err)
	}
	store.OwnedBy(h.Owner)
	return store
}

func record(address session.Address, id string) session.Record {
	return session.Record{ID: id, Address: address, Spec: session.Spec{Address: address}, Run: session.Run{ID: "run-" + id}}
}

// put records a session in one command.
func (h host) put(address session.Address, id string) {
	h.t.Helper()
	store := h.open()
	if err := store.Put(record(address, id)); err != nil {
		h.t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		h.t.Fatal(err)
	}
}

// ids are the sessions that a machine sees.
func (h host) ids() string {
	h.t.Helper()
	if err := h.Pull(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	st, err := state.Read(h.Path)
	if err != nil {
		h.t.Fatal(err)
	}
	var all []string
	for _, r := range st.Sessions {
		all = append(all, r.ID+"@"+r.Owner.Host)
	}
	return strings.Join(all, " ")
}

func want(t *testing.T, what, got, wanted string) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: %q, want %q", what, got, wanted)
	}
}

func TestTwoMachines(t *testing.T) {
	m := &memory{}
	near, far := newHost(t, "near", m), newHost(t, "far", m)
	digest, err := near.Blobs.Put("Fix the tests.")
	if err != nil {
		t.Fatal(err)
	}
	store := near.open()
	r := record("session.a", "a")
	r.Spec.Prompt.Digest = digest
	if err := store.Put(r); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "far", far.ids(), "a@near")
	if text, err := far.Blobs.Get(digest); err != nil || text != "Fix the tests." {
		t.Errorf("the prompt: %q, %v", text, err)
	}
	far.put("session.b", "b")
	want(t, "near", near.ids(), "a@near b@far")
	if a, b := lineage(t, near), lineage(t, far); a != b {
		t.Errorf("lineages %s and %s", a, b)
	}
}

func lineage(t *testing.T, h host) string {
	st, err := state.Read(h.Path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Lineage
}

// TestNothingWritten: a command that changes nothing writes nothing.
func TestNothingWritten(t *testing.T) {
	m := &memory{}
	near := newHost(t, "near", m)
	near.put("session.a", "a")
	before := m.writes
	if err := near.open().Close(); err != nil {
		t.Fatal(err)
	}
	if m.writes != before {
		t.Errorf("%d writes", m.writes-before)
	}
}

// TestKnownBeforeItStarts: a new session is in the backend when Put returns, and not on
// record where that failed.
func TestKnownBeforeItStarts(t *testing.T) {
	m := &memory{}
	near, far := newHost(t, "near", m), newHost(t, "far", m)
	store := near.open()
	if err := store.Put(record("session.a", "a")); err != nil {
		t.Fatal(err)
	}
	want(t, "far", far.ids(), "a@near")
	m.fail = func(call string) error { return errors.New("the line is cut") }
	if err := store.Put(record("session.b", "b")); err == nil || !strings.Contains(err.Error(), "the line is cut") {
		t.Errorf("put: %v", err)
	}
	if n := len(store.State().Sessions); n != 1 {
		t.Errorf("%d sessions on record", n)
	}
	m.fail = nil
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, "far", far.ids(), "a@near")
}

// TestUnsent: what could not be sent is kept, told, and sent by the next command; it wins
// over what the backend has of this machine, and not over what others wrote.
func TestUnsent(t *testing.T) {
	m := &memory{}
	near, far := newHost(t, "near", m), newHost(t, "far", m)
	near.put("session.a", "a")
	want(t, "far", far.ids(), "a@near")
	store := near.open()
	m.fail = func(call string) error {
		if call == "write" {
			return errors.New("the line is cut")
		}
		return nil
	}
	r := record("session.a", "a")
	r.LastError = "it was changed"
	if err := store.Put(r); err != nil {
		t.Fatal(err)
	}
	err := store.Close()
	var unsent *sharedstate.UnsentError
	if !errors.As(err, &unsent) || !strings.Contains(err.Error(), "the line is cut") || !strings.Contains(err.Error(), "agentform state push "+near.Path) {
		t.Fatalf("close: %v", err)
	}
	m.fail = nil
	far.put("session.b", "b")
	want(t, "near", near.ids(), "a@near b@far")
	st, err := state.Read(near.Path)
	if err != nil || st.Sessions[0].LastError != "it was changed" {
		t.Errorf("%+v, %v", st.Sessions, err)
	}
	if err := near.open().Close(); err != nil {
		t.Fatal(err)
	}
	if err := far.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st, err = state.Read(far.Path); err != nil || st.Sessions[0].LastError != "it was changed" {
		t.Errorf("far: %+v, %v", st.Sessions, err)
	}
}

// TestSameAddress: two machines cannot both have a session.
func TestSameAddress(t *testing.T) {
	m := &memory{}
	near, far := newHost(t, "near", m), newHost(t, "far", m)
	store := near.open()
	m.fail = func(call string) error { return errors.New("the line is cut") }
	if err := store.Put(record("session.a", "near")); err == nil {
		t.Fatal("it was recorded")
	}
	_ = store.Close()
	m.fail, m.holder = nil, backend.Info{}
	far.put("session.a", "far")
	want(t, "near", near.ids(), "far@far")
}

// TestTakenOver: what could not be sent of a session does not come back at an address that
// another machine has meanwhile.
func TestTakenOver(t *testing.T) {
	m := &memory{}
	near, far := newHost(t, "near", m), newHost(t, "far", m)
	near.put("session.a", "near")
	store := near.open()
	m.fail = func(call string) error {
		if call == "write" {
			return errors.New("the line is cut")
		}
		return nil
	}
	r := record("session.a", "near")
	r.LastError = "it was changed"
	if err := store.Put(r); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err == nil {
		t.Fatal("it was sent")
	}
	m.fail = nil
	there := far.open()
	if err := there.Delete("session.a"); err != nil {
		t.Fatal(err)
	}
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	far.put("session.a", "far")
	want(t, "near", near.ids(), "far@far")
}

// TestLost: a holder that lost its lock begins nothing more, sends nothing, and keeps what it
// has done.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{lease: 60 * time.Millisecond}
		near := newHost(t, "near", m)
		store := near.open()
		if err := store.Put(record("session.a", "a")); err != nil {
			t.Fatal(err)
		}
		m.mu.Lock()
		m.holder = backend.Info{ID: "other", Who: "somebody@far"}
		text := string(m.text)
		m.mu.Unlock()
		beginning, done := record("session.a", "a"), record("session.a", "a")
		beginning.Intent = session.Restarting
		for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			err := store.Put(beginning)
			var lost *backend.LostError
			if errors.As(err, &lost) && lost.Holder.ID == "other" {
				break
			}
			if err != nil || time.Since(began) > m.lease {
				t.Fatalf("put: %v", err)
			}
		}
		done.LastError = "done meanwhile"
		if err := store.Put(done); err != nil {
			t.Errorf("what was done: %v", err)
		}
		if err := store.Close(); err == nil || !strings.Contains(err.Error(), "somebody@far") {
			t.Errorf("close: %v", err)
		}
		if string(m.text) != text || m.holder.ID != "other" {
			t.Error("the other holder's state or lock was changed")
		}
		if st, err := state.Read(near.Path); err != nil || st.Sessions[0].LastError != "done meanwhile" {
			t.Errorf("%+v, %v", st, err)
		}
	})
}

func TestLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{holder: backend.Info{ID: "other", Who: "somebody@far", Operation: "agentform apply", Created: time.Now().Add(-time.Minute)}}
		near := newHost(t, "near", m)
		told := 0
		_, err := near.Open(t.Context(), sharedstate.Opening{Wait: 1100 * time.Millisecond, Waiting: func(backend.Info) { told++ }})
		var locked *sharedstate.LockedError
		if !errors.As(err, &locked) || told == 0 {
			t.Fatalf("%v, told %d times", err, told)
		}
		for _, part := range []string{"ID:        other", "somebody@far", "(1m", "agentform force-unlock other"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in\n%v", part, err)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	m := &memory{}
	near := newHost(t, "near", m)
	near.put("session.a", "a")
	t.Run("gone", func(t *testing.T) {
		text := m.text
		defer func() { m.text = text }()
		m.text = nil
		var gone *sharedstate.GoneError
		if err := near.Pull(t.Context()); !errors.As(err, &gone) {
			t.Error(err)
		}
	})
	t.Run("unreachable", func(t *testing.T) {
		defer func() { m.fail = nil }()
		m.fail = func(string) error { return errors.New("the line is cut") }
		var unreachable *sharedstate.UnreachableError
		if err := near.Pull(t.Context()); !errors.As(err, &unreachable) {
			t.Error(err)
		}
		if _, err := near.Open(t.Context(), sharedstate.Opening{}); !errors.As(err, &unreachable) {
			t.Error(err)
		}
	})
	t.Run("torn", func(t *testing.T) {
		text := m.text
		m.text, m.serial = text[:len(text)/2], m.serial+1
		defer func() { m.text, m.serial = text, m.serial-1 }()
		if err := near.Pull(t.Context()); err == nil {
			t.Error("half a state was taken")
		}
		want(t, "the lock", m.holder.ID, "")
	})
	t.Run("another project's", func(t *testing.T) {
		other := newHost(t, "near", &memory{})
		other.put("session.x", "x")
		other.put("session.y", "y")
		other.put("session.z", "z")
		other.Backend = m
		var stranger *sharedstate.StrangerError
		if err := other.Pull(t.Context()); !errors.As(err, &stranger) {
			t.Error(err)
		}
	})
	t.Run("moved", func(t *testing.T) {
		near.Name = "elsewhere"
		defer func() { near.Name = "memory" }()
		var moved *sharedstate.MovedError
		if err := near.Pull(t.Context()); !errors.As(err, &moved) || moved.From != "memory" {
			t.Error(err)
		}
	})
}

// TestWritesAreGrouped: many changes at once share writes.
func TestWritesAreGrouped(t *testing.T) {
	m := &memory{}
	near := newHost(t, "near", m)
	near.put("session.a", "a")
	before, store := m.writes, near.open()
	for range 200 {
		if err := store.Put(record("session.a", "a")); err != nil {
			t.Fatal(err)
		}
	}
	r := record("session.a", "a")
	r.LastError = "the last one"
	if err := store.Put(r); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if n := m.writes - before; n > 3 {
		t.Errorf("%d writes", n)
	}
	if !strings.Contains(string(m.text), "the last one") {
		t.Error("the last change was not sent")
	}
}

// TestCopyRemoved: a copy that was removed is read again.
func TestCopyRemoved(t *testing.T) {
	m := &memory{}
	near := newHost(t, "near", m)
	near.put("session.a", "a")
	if err := os.Remove(near.Path); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(state.JournalOf(near.Path))
	want(t, "near", near.ids(), "a@near")
}

// TestFirstReadInterrupted: what was read first was written and not noted.
func TestFirstReadInterrupted(t *testing.T) {
	m := &memory{}
	newHost(t, "near", m).put("session.a", "a")
	far := newHost(t, "far", m)
	obstacle := far.Path + ".lineage" // is written between the copy and the note
	m.fail = func(call string) error {
		if call == "read" {
			return errors.Join(os.Remove(obstacle), os.MkdirAll(filepath.Join(obstacle, "full"), 0o700))
		}
		return nil
	}
	if _, err := far.Open(t.Context(), sharedstate.Opening{}); err == nil {
		t.Fatal("nothing was interrupted")
	}
	m.fail = nil
	if serial, err := state.Serial(far.Path); err != nil || serial == 0 {
		t.Fatalf("serial %d, %v: nothing was written", serial, err)
	}
	if err := os.RemoveAll(obstacle); err != nil {
		t.Fatal(err)
	}
	far.put("session.b", "b")
	want(t, "the state", far.ids(), "a@near b@far")
}

// TestFirstSendInterrupted: two machines begin the state, and one was killed before it sent
// its first session.
func TestFirstSendInterrupted(t *testing.T) {
	m := &memory{}
	near, far := newHost(t, "near", m), newHost(t, "far", m)
	if err := far.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := state.Open(t.Context(), far.Path, far.Project, far.Version, state.Holder{}, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	store.OwnedBy(far.Owner)
	unsent := record("session.a", "a")
	unsent.Intent = session.Creating
	if err := errors.Join(store.Put(unsent), store.Close()); err != nil {
		t.Fatal(err)
	}
	near.put("session.b", "b")
	far.put("session.c", "c")
	want(t, "the state", near.ids(), "a@far b@near c@far")
}

// recordsOf returns the records of a host's copy, which is brought up to date.
func recordsOf(t *testing.T, h host) []session.Record {
	t.Helper()
	h.ids()
	st, err := state.Read(h.Path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Sessions
}

// TestRepositories checks that each machine finds the repository of a session that it reaches where
// it has the project, and not that of another machine's session.
func TestRepositories(t *testing.T) {
	m := &memory{}
	near, far := newHost(t, "near", m), newHost(t, "far", m)
	near.Owner.Project, far.Owner.Project = "/home/a/mono/shop", "/builds/mono/shop"
	at := time.Now().UTC()
	repos := func(h host) string {
		t.Helper()
		var all []string
		for _, r := range recordsOf(t, h) {
			if r.Tree.Repo != r.Spec.Workspace.Repo {
				t.Errorf("%s: %s, declared %s", r.ID, r.Tree.Repo, r.Spec.Workspace.Repo)
			}
			all = append(all, r.ID+" "+r.Tree.Repo)
		}
		return strings.Join(all, ", ")
	}
	put := func(h host, kind, id, repo string) {
		t.Helper()
		r := record(session.Address("session."+id), id)
		r.Spec.Runtime.Kind, r.Spec.Workspace.Repo, r.Tree.Repo = kind, repo, repo
		store := h.open()
		if err := errors.Join(store.Put(r), store.Close()); err != nil {
			t.Fatal(err)
		}
	}
	put(near, "kubernetes", "a", "/home/a/mono/shop")
	put(near, "kubernetes", "b", "/home/a/mono")
	put(near, "kubernetes", "c", "https://git.example/shop.git")
	put(near, "kubernetes", "d", "")
	put(near, "tmux", "e", "/home/a/mono/shop")
	want(t, "far", repos(far), "a /builds/mono/shop, b /builds/mono, c https://git.example/shop.git, d , e /home/a/mono/shop")
	put(far, "kubernetes", "f", "/builds/mono/shop")
	want(t, "near", repos(near), "a /home/a/mono/shop, b /home/a/mono, c https://git.example/shop.git, d , e /home/a/mono/shop, f /home/a/mono/shop")

	// As in a hub's container, where the project has no directory above it.
	hub := newHost(t, "hub", m)
	hub.Owner.Project = "/data"
	put(near, "kubernetes", "b", "/home/a")
	want(t, "hub", repos(hub), "a /data, b ../.., c https://git.example/shop.git, d , e /home/a/mono/shop, f /data")
	put(hub, "kubernetes", "f", "/data")
	want(t, "near, after the hub", repos(near), "a /home/a/mono/shop, b /home/a, c https://git.example/shop.git, d , e /home/a/mono/shop, f /home/a/mono/shop")
	put(near, "kubernetes", "b", "/home/a/mono")

	// One that was not sent before the project was moved has its new place, too.
	m.fail = func(call string) error {
		if call == "write" {
			return errors.New("the line is cut")
		}
		return nil
	}
	r := record("session.a", "a")
	r.Spec.Runtime.Kind, r.Spec.Workspace.Repo, r.Tree.Repo, r.UpdatedAt = "kubernetes", "/builds/mono/shop", "/builds/mono/shop", at.Add(time.Hour)
	r.LastError = "unsent"
	store := far.open()
	if err := store.Put(r); err != nil {
		t.Fatal(err)
	}
	_ = store.Close() // it says that nothing was sent
	m.fail = nil
	far.Owner.Project = "/moved/mono/shop"
	want(t, "far, moved", repos(far), "a /moved/mono/shop, b /moved/mono, c https://git.example/shop.git, d , e /home/a/mono/shop, f /moved/mono/shop")
	if st, err := state.Read(far.Path); err != nil || st.Sessions[0].LastError != "unsent" {
		t.Errorf("what was not sent is lost: %+v, %v", st.Sessions[0], err)
	}
}

// TestEverywhere: two machines change the same sessions, whose runtime both reach.
func TestEverywhere(t *testing.T) {
	m := &memory{}
	near, far := newHost(t, "near", m), newHost(t, "far", m)
	at := time.Now().UTC()
	put := func(h host, id, what string, minute int) error {
		store := h.open()
		r := record(session.Address("session."+id), id)
		r.Spec.Runtime.Kind, r.LastError, r.UpdatedAt = "kubernetes", what, at.Add(time.Duration(minute)*time.Minute)
		if err := store.Put(r); err != nil {
			t.Fatal(err)
		}
		return store.Close()
	}
	cut := func(do func()) {
		m.fail = func(call string) error {
			if call == "write" {
				return errors.New("the line is cut")
			}
			return nil
		}
		do()
		m.fail = nil
	}
	said := func(h host) string {
		t.Helper()
		var all []string
		for _, r := range recordsOf(t, h) {
			all = append(all, r.ID+" "+r.LastError)
		}
		return strings.Join(all, ", ")
	}
	for i, id := range []string{"a", "b", "c"} {
		if err := put(near, id, "near", i); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "far", said(far), "a near, b near, c near")

	// What near could not send is older for a, newer for b, and c is gone meanwhile.
	cut(func() {
		store := near.open()
		for id, minute := range map[string]int{"a": 10, "b": 30, "c": 30} {
			r := record(session.Address("session."+id), id)
			r.Spec.Runtime.Kind, r.LastError, r.UpdatedAt = "kubernetes", "unsent", at.Add(time.Duration(minute)*time.Minute)
			if err := store.Put(r); err != nil {
				t.Fatal(err)
			}
		}
		_ = store.Close() // it says that nothing was sent
	})
	for _, id := range []string{"a", "b"} {
		if err := put(far, id, "far", 20); err != nil {
			t.Fatal(err)
		}
	}
	store := far.open()
	if err := errors.Join(store.Delete("session.c"), store.Close()); err != nil {
		t.Fatal(err)
	}
	want(t, "near", said(near), "a far, b unsent")
}
