package sharedstate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// at returns the machine as it is with a backend block that names another backend.
func (h host) at(name string, m *memory) host {
	return host{&sharedstate.Copy{Path: h.Path, Backend: m, Name: name, Blobs: h.Blobs, Owner: h.Owner, Project: h.Project, Version: h.Version, Log: h.Log}, h.t}
}

// migration moves the state of a machine. It is an error to be asked unless agrees is set.
func (h host) migration(from, to *sharedstate.Copy, agrees bool) sharedstate.Migration {
	return sharedstate.Migration{Path: h.Path, From: from, To: to, Owner: h.Owner, Open: func(ctx context.Context) (*state.Store, error) {
		return state.Open(ctx, h.Path, h.Project, h.Version, state.Holder{}, 0)
	}, Agree: func(_, _ state.State) error {
		if !agrees {
			return errors.New("asked")
		}
		return nil
	}}
}

func (h host) migrate(from, to *sharedstate.Copy, agrees bool) sharedstate.Moved {
	h.t.Helper()
	moved, err := h.migration(from, to, agrees).Run(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return moved
}

func addresses(t *testing.T, path string) string {
	t.Helper()
	st, err := state.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range st.Sessions {
		all = append(all, r.Address.Short())
	}
	return strings.Join(all, " ")
}

// TestFollowMigration: of two machines that follow a changed backend block, the second one
// replaces nothing that the first has written there since, and none goes on with the old
// backend.
func TestFollowMigration(t *testing.T) {
	one, two := &memory{}, &memory{}
	a, b, c := newHost(t, "a", one), newHost(t, "b", one), newHost(t, "c", one)
	a.put("session.first", "first")
	b.put("session.second", "second")
	if err := c.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	aTwo, bTwo := a.at("two", two), b.at("two", two)
	var changed *sharedstate.MovedError
	if err := aTwo.Pull(t.Context()); !errors.As(err, &changed) || changed.Known {
		t.Errorf("before the state is there: %v", err)
	}
	a.migrate(a.Copy, aTwo.Copy, true)
	aTwo.put("session.third", "third")

	var left *sharedstate.LeftError
	if err := c.Pull(t.Context()); !errors.As(err, &left) || left.To != "two" {
		t.Errorf("a machine that did not follow read %v", err)
	}
	if _, err := c.Open(t.Context(), sharedstate.Opening{}); !errors.As(err, &left) {
		t.Errorf("a machine that did not follow opened %v", err)
	}
	if err := bTwo.Pull(t.Context()); !errors.As(err, &changed) || !changed.Known {
		t.Errorf("the advice once the state is there: %v", err)
	}
	moved := b.migrate(b.Copy, bTwo.Copy, false)
	want(t, "sessions", fmt.Sprint(moved.Sessions), "3")
	want(t, "what the second has", addresses(t, b.Path), "first second third")
	if err := aTwo.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "what the first has", addresses(t, a.Path), "first second third")

	// Whoever changes the block back moves the state back.
	a.migrate(aTwo.Copy, a.Copy, true)
	if err := c.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "what the third has", addresses(t, c.Path), "first second third")
	if err := bTwo.Pull(t.Context()); !errors.As(err, &left) || left.To != "memory" {
		t.Errorf("after the way back: %v", err)
	}
}

// TestReconfigureWhatWasLeft uses a state that was moved elsewhere only if that is wanted.
func TestReconfigureWhatWasLeft(t *testing.T) {
	one, two := &memory{}, &memory{}
	a := newHost(t, "a", one)
	a.put("session.first", "first")
	aTwo := a.at("two", two)
	a.migrate(a.Copy, aTwo.Copy, true)
	back := a.migration(nil, a.Copy, false)
	var left *sharedstate.LeftError
	if _, err := back.Reconfigure(t.Context()); !errors.As(err, &left) {
		t.Fatal(err)
	}
	back.Anyway = true
	if _, err := back.Reconfigure(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.put("session.second", "second")
	want(t, "sessions", addresses(t, a.Path), "first second")
}

// TestFailedMigration leaves the old backend as it was.
func TestFailedMigration(t *testing.T) {
	one, two := &memory{}, &memory{}
	a := newHost(t, "a", one)
	a.put("session.first", "first")
	two.fail = func(call string) error {
		if call == "write" {
			return errors.New("the line is cut")
		}
		return nil
	}
	if _, err := a.migration(a.Copy, a.at("two", two).Copy, true).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the line is cut") {
		t.Error(err)
	}
	a.put("session.second", "second")
	want(t, "sessions", addresses(t, a.Path), "first second")
}

// TestMigrationToOneMachine refuses to shut out the sessions of other machines.
func TestMigrationToOneMachine(t *testing.T) {
	one := &memory{}
	a, b := newHost(t, "a", one), newHost(t, "b", one)
	b.put("session.theirs", "theirs")
	a.put("session.ours", "ours")
	var others *sharedstate.OthersError
	if _, err := a.migration(a.Copy, nil, true).Run(t.Context()); !errors.As(err, &others) || len(others.Sessions) != 1 ||
		!strings.Contains(err.Error(), "session.theirs on b:"+b.Owner.DataDir) {
		t.Errorf("migrated: %v", err)
	}
	a.put("session.more", "more")

	moved, err := a.migration(nil, nil, false).Reconfigure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want(t, "left out", fmt.Sprint(moved.LeftOut), "1")
	want(t, "sessions of this machine alone", addresses(t, a.Path), "more ours")
	if err := b.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "sessions of the others", addresses(t, b.Path), "more ours theirs")
	if _, err := os.Stat(filepath.Join(filepath.Dir(a.Path), "state.json.backend")); err == nil {
		t.Error("the state file is still a copy")
	}
}

// TestReplacedStateIsBackedUp replaces another state with a backup of it.
func TestReplacedStateIsBackedUp(t *testing.T) {
	one, two := &memory{}, &memory{}
	a, other := newHost(t, "a", one), newHost(t, "other", two)
	other.put("session.other", "other")
	a.put("session.first", "first")
	moved := a.migrate(a.Copy, a.at("two", two).Copy, true)
	if len(moved.Backups) != 2 {
		t.Fatalf("backups %q", moved.Backups)
	}
	text, err := os.ReadFile(moved.Backups[1])
	if err != nil {
		t.Fatal(err)
	}
	if st, err := state.Decode(text); err != nil || len(st.Sessions) != 1 || st.Sessions[0].ID != "other" {
		t.Errorf("the backup has %v, %v", st.Sessions, err)
	}
}

// TestOlderBackend refuses a backend that went back in time, and writes there again what is
// here if that is wanted.
func TestOlderBackend(t *testing.T) {
	m := &memory{}
	a := newHost(t, "a", m)
	a.put("session.first", "first")
	old := m.text
	a.put("session.second", "second")
	restore := func() { m.text, m.serial = old, m.serial+1 }
	restore()
	var unread *sharedstate.UnreachableError
	if err := a.Pull(t.Context()); !errors.As(err, &unread) || !strings.Contains(err.Error(), "state push --force") {
		t.Errorf("read: %v", err)
	}
	if _, err := a.Open(t.Context(), sharedstate.Opening{}); !errors.As(err, &unread) {
		t.Errorf("opened: %v", err)
	}
	want(t, "sessions", addresses(t, a.Path), "first second")
	store, err := a.Open(t.Context(), sharedstate.Opening{Anew: true})
	if err == nil {
		err = errors.Join(store.Push(store.State(), true), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	b := newHost(t, "b", m)
	if err := b.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "sessions of another machine", addresses(t, b.Path), "first second")

	restore()
	if _, err := a.migration(nil, a.Copy, false).Reconfigure(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "sessions with those of this machine", addresses(t, a.Path), "first second")
}

// TestRebuiltCopyIsSent sends a copy that was rebuilt with a lower serial.
func TestRebuiltCopyIsSent(t *testing.T) {
	m := &memory{}
	a := newHost(t, "a", m)
	for _, id := range []string{"first", "second", "third"} {
		a.put(session.Address("session."+id), id)
	}
	st, err := state.Read(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	st.Serial, st.Sessions = 1, st.Sessions[:2]
	if _, err := state.Rebuild(t.Context(), a.Path, st, state.Sum(a.Path), state.Holder{}, 0); err != nil {
		t.Fatal(err)
	}
	if err := a.open().Close(); err != nil {
		t.Fatal(err)
	}
	b := newHost(t, "b", m)
	if err := b.Pull(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "sessions of another machine", addresses(t, b.Path), "first second")
}
