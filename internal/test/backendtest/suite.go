// Package backendtest is the suite that every backend of the shared state passes.
package backendtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/pipe"
)

// A Suite tests one kind of backend. Its test binary calls Main from TestMain.
type Suite struct {
	// Start starts a server that ends with the test, and returns its address, host:port.
	Start func(t *testing.T) (address string)
	// Handler, in place of Start, returns what a server of HTTP serves. Open must use pipe.Dial.
	Handler func(t *testing.T) http.Handler
	// Open returns a client of the server at an address, for the state of one project.
	Open func(address, project string, lease time.Duration) (backend.Backend, error)
	// Expires reports whether a lock lasts only for its lease.
	Expires bool
	// Conditional reports whether the store compares versions itself, so that two writers
	// under the same lock exclude each other too.
	Conditional bool
	// Local reports whether the address is a directory of this machine, and the lock one of
	// the operating system, which ends with its holder and is never released by force.
	Local bool
}

// short is the lease of tests that wait until it is over. slack is what a busy machine, and
// a store that counts in seconds, may add.
const (
	short = 2 * time.Second
	slack = 4 * time.Second
)

// Run runs the suite in real time, with processes that are killed, and with the network if
// the backend needs one.
func (s Suite) Run(t *testing.T) {
	address := ""
	if s.Handler != nil {
		server := httptest.NewServer(s.Handler(t))
		t.Cleanup(server.Close)
		address = server.Listener.Addr().String()
	} else {
		address = s.Start(t)
	}
	s.run(t, append(s.tests(), suiteTest{"Killed", killed}), func(t *testing.T, test func(*testing.T, store)) {
		test(t, store{s, net.Listen, address, uuid.NewString()})
	})
}

// RunVirtual runs the suite in virtual time, without processes and without a network. Each
// test has a store of its own.
func (s Suite) RunVirtual(t *testing.T) {
	listen := func(string, string) (net.Listener, error) { return pipe.Listen(), nil }
	s.run(t, s.tests(), func(t *testing.T, test func(*testing.T, store)) {
		synctest.Test(t, func(t *testing.T) {
			address := ""
			if s.Handler != nil {
				address = pipe.Serve(t, s.Handler(t)).Listener.Addr().String()
			} else {
				address = s.Start(t)
			}
			test(t, store{s, listen, address, uuid.NewString()})
		})
	})
}

func (s Suite) run(t *testing.T, tests []suiteTest, in func(*testing.T, func(*testing.T, store))) {
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in(t, c.test)
		})
	}
	if s.Local {
		return
	}
	t.Run("Faults", func(t *testing.T) {
		t.Parallel()
		for _, c := range s.faults() {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				in(t, c.test)
			})
		}
	})
}

func (s Suite) tests() []suiteTest {
	tests := []suiteTest{
		{"NoState", noState},
		{"Versions", versions},
		{"SameVersion", sameVersion},
		{"Lock", lock},
		{"Big", big},
		{"Projects", projects},
		{"Writers", writers},
	}
	if !s.Local {
		tests = append(tests, []suiteTest{
			{"Forced", forced},
			{"Expired", expired},
			{"Untaken", untaken},
			{"Unreachable", unreachable},
			{"Torn", torn},
		}...)
	}
	return tests
}

type suiteTest struct {
	name string
	test func(*testing.T, store)
}

// store is where the clients of one test keep their state.
type store struct {
	Suite
	listen           func(network, address string) (net.Listener, error)
	address, project string
}

func (s store) open(t *testing.T) backend.Backend {
	t.Helper()
	return s.openFor(t, backend.Lease)
}

func (s store) openFor(t *testing.T, lease time.Duration) backend.Backend {
	t.Helper()
	b, err := s.Open(s.address, s.project, lease)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// document is a state, as far as a backend reads it.
type document struct {
	Serial  int      `json:"serial"`
	Lineage string   `json:"lineage"`
	Lines   []string `json:"lines"`
}

// with returns the state that follows d.
func (d document) with(line string) document {
	return document{d.Serial + 1, "suite", append(append([]string{}, d.Lines...), line)}
}

func (d document) text() []byte {
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

func parse(text []byte) (d document, err error) {
	err = json.Unmarshal(text, &d)
	return d, err
}

// info describes a new lock.
func info(who string) backend.Info {
	id := uuid.NewString()
	return backend.Info{ID: id, Operation: "apply", Who: who, Version: "1.0", Created: time.Now().UTC(), Path: "shop",
		Process: &backend.Process{Process: proc.Process{PID: 7, Start: 11}, BootID: id, UID: 1000}} // each on a machine of its own
}

func mustLock(t *testing.T, b backend.Backend, i backend.Info) {
	t.Helper()
	if _, err := b.Lock(t.Context(), i); err != nil {
		t.Fatal("lock:", err)
	}
}

func mustUnlock(t *testing.T, b backend.Backend, i backend.Info) {
	t.Helper()
	if err := b.Unlock(t.Context(), i); err != nil {
		t.Fatal("unlock:", err)
	}
}

func mustWrite(t *testing.T, b backend.Backend, text []byte, seen backend.Version, id string) backend.Version {
	t.Helper()
	v, err := b.Write(t.Context(), text, seen, id)
	if err != nil {
		t.Fatal("write:", err)
	}
	return v
}

// wantState fails unless b stores text with that version.
func wantState(t *testing.T, b backend.Backend, text []byte, v backend.Version) {
	t.Helper()
	got, at, err := b.Read(t.Context())
	if err != nil || !bytes.Equal(got, text) || at != v {
		t.Fatalf("read %.80q, version %q, %v; want %.80q, version %q", got, at, err, text, v)
	}
}

func wantHolder(t *testing.T, b backend.Backend, i backend.Info) {
	t.Helper()
	if got, err := b.Holder(t.Context()); err != nil || !same(got, i) {
		t.Fatalf("holder %+v, %v; want %+v", got, err, i)
	}
}

func wantNoHolder(t *testing.T, b backend.Backend) {
	t.Helper()
	if got, err := b.Holder(t.Context()); !errors.Is(err, backend.ErrNone) {
		t.Fatalf("holder %+v, %v; want none", got, err)
	}
}

// same reports whether a backend's description of a lock is that of i.
func same(got, i backend.Info) bool {
	at := got.Created
	got.Renewed, got.Created = i.Renewed, i.Created
	return at.Equal(i.Created) && reflect.DeepEqual(got, i)
}

// wantHeld fails unless err says that i has the lock.
func wantHeld(t *testing.T, err error, i backend.Info) {
	t.Helper()
	if held, ok := errors.AsType[*backend.HeldError](err); !ok || !same(held.Holder, i) {
		t.Fatalf("%v; want: held by %s", err, i.ID)
	}
}

// wantLost fails unless err says that the lock was lost to i, to nobody if its ID is empty.
func wantLost(t *testing.T, err error, i backend.Info) {
	t.Helper()
	if lost, ok := errors.AsType[*backend.LostError](err); !ok || lost.Holder.ID != i.ID {
		t.Fatalf("%v; want: lost to %q", err, i.ID)
	}
}

func wantChanged(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*backend.ChangedError](err); !ok {
		t.Fatalf("%v; want: changed", err)
	}
}

func noState(t *testing.T, s store) {
	b := s.open(t)
	if text, _, err := b.Read(t.Context()); !errors.Is(err, backend.ErrNone) {
		t.Errorf("read %q, %v", text, err)
	}
	wantNoHolder(t, b)
	mustUnlock(t, b, info("ann"))
}

func versions(t *testing.T, s store) {
	b, i := s.open(t), info("ann")
	mustLock(t, b, i)
	one, two := document{}.with("one"), document{}.with("one").with("two")
	first := mustWrite(t, b, one.text(), "", i.ID)
	wantState(t, s.open(t), one.text(), first)
	second := mustWrite(t, b, two.text(), first, i.ID)
	if second == first {
		t.Errorf("two states have version %q", first)
	}
	wantState(t, s.open(t), two.text(), second)

	for _, seen := range []backend.Version{"", first} {
		_, err := b.Write(t.Context(), two.with("three").text(), seen, i.ID)
		wantChanged(t, err)
	}
	wantState(t, s.open(t), two.text(), second)
	mustUnlock(t, b, i)
}

func sameVersion(t *testing.T, s store) {
	b, i := s.open(t), info("ann")
	mustLock(t, b, i)
	var seen backend.Version
	for round := range 10 {
		var wrote [2]backend.Version
		var errs [2]error
		write := func(n int) {
			text := document{}.with(fmt.Sprint(round, "by", n)).text()
			wrote[n], errs[n] = b.Write(t.Context(), text, seen, i.ID)
		}
		if s.Conditional {
			var group sync.WaitGroup
			group.Go(func() { write(0) })
			group.Go(func() { write(1) })
			group.Wait()
		} else {
			write(0)
			write(1)
		}
		won := 0
		if errs[0] != nil {
			won = 1
		}
		if errs[won] != nil {
			t.Fatal("nobody wins:", errs)
		}
		wantChanged(t, errs[1-won])
		wantState(t, b, document{}.with(fmt.Sprint(round, "by", won)).text(), wrote[won])
		seen = wrote[won]
	}
}

func lock(t *testing.T, s store) {
	a, b := s.open(t), s.open(t)
	ann, bob := info("ann"), info("bob")
	lease, err := a.Lock(t.Context(), ann)
	if err != nil || s.Expires != (lease > 0) {
		t.Fatal(lease, err)
	}
	wantHolder(t, b, ann)
	_, err = b.Lock(t.Context(), bob)
	wantHeld(t, err, ann)
	_, err = b.Write(t.Context(), document{}.with("bob").text(), "", bob.ID)
	wantLost(t, err, ann)
	if _, _, err := b.Read(t.Context()); !errors.Is(err, backend.ErrNone) {
		t.Fatal("a write without the lock:", err)
	}

	mustLock(t, a, ann) // renews
	wantHolder(t, b, ann)
	if s.Expires {
		i, _ := b.Holder(t.Context())
		if age := time.Since(i.Renewed); age < -slack || age > 2*slack {
			t.Errorf("renewed %v ago", age)
		}
	}
	wantLost(t, b.Unlock(t.Context(), bob), ann)
	wantHolder(t, b, ann)

	mustUnlock(t, a, ann)
	wantNoHolder(t, b)
	mustUnlock(t, a, ann)
	mustLock(t, b, bob)
	wantHolder(t, a, bob)
	_, err = a.Lock(t.Context(), ann)
	wantHeld(t, err, bob)
	mustUnlock(t, b, bob)
}

func forced(t *testing.T, s store) {
	a, b := s.open(t), s.open(t)
	ann, bob := info("ann"), info("bob")
	mustLock(t, a, ann)
	v := mustWrite(t, a, document{}.with("one").text(), "", ann.ID)

	holder, err := b.Holder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustUnlock(t, b, holder)
	wantNoHolder(t, a)
	two := document{}.with("one").with("two").text()
	_, err = a.Write(t.Context(), two, v, ann.ID)
	wantLost(t, err, backend.Info{})
	_, err = a.Lock(t.Context(), ann)
	wantLost(t, err, backend.Info{})
	wantNoHolder(t, b)

	mustLock(t, b, bob)
	_, err = a.Write(t.Context(), two, v, ann.ID)
	wantLost(t, err, bob)
	_, err = a.Lock(t.Context(), ann)
	wantLost(t, err, bob)
	wantLost(t, a.Unlock(t.Context(), ann), bob)
	wantState(t, a, document{}.with("one").text(), v)

	mustWrite(t, b, two, v, bob.ID)
	mustUnlock(t, b, bob)
	mustLock(t, a, info("ann again"))
}

func expired(t *testing.T, s store) {
	if !s.Expires {
		return
	}
	dead, ann := s.openFor(t, short), info("ann")
	mustLock(t, dead, ann)
	time.Sleep(short / 2)
	renewed := time.Now()
	mustLock(t, dead, ann)

	// Its holder was killed. Each waiter keeps what it takes, as a holder that lives does.
	ctx, cancel := context.WithTimeout(t.Context(), short+slack)
	defer cancel()
	var taken atomic.Int32
	var group sync.WaitGroup
	for n := range 8 {
		b := s.openFor(t, short)
		group.Go(func() {
			hold, err := backend.Acquire(ctx, patient{b}, info(fmt.Sprint("waiter ", n)), 0, nil)
			if err != nil {
				return
			}
			if waited := time.Since(renewed); taken.Add(1) == 1 && waited < short {
				t.Errorf("taken after %v of a lease of %v", waited, short)
			}
			<-ctx.Done()
			if err := hold.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := taken.Load(); n != 1 {
		t.Errorf("%d waiters took the lock", n)
	}
	_, err := dead.Write(t.Context(), document{}.with("late").text(), "", ann.ID)
	wantLost(t, err, backend.Info{})
}

// untaken keeps a lock for longer than its lease, and nobody takes it meanwhile.
func untaken(t *testing.T, s store) {
	if !s.Expires {
		return
	}
	b, i := s.openFor(t, short), info("ann")
	mustLock(t, b, i)
	time.Sleep(short + 1500*time.Millisecond)
	wantNoHolder(t, b)
	mustUnlock(t, s.open(t), info("bob"))
	v := mustWrite(t, b, document{}.with("one").text(), "", i.ID)
	mustLock(t, b, i)
	wantHolder(t, s.open(t), i)
	wantState(t, b, document{}.with("one").text(), v)
}

func big(t *testing.T, s store) {
	b, i := s.open(t), info("ann")
	mustLock(t, b, i)
	var v backend.Version
	for n := range 2 {
		text := document{}.with(strings.Repeat(fmt.Sprint("12 MiB ", n), 12<<20/8)).text()
		v = mustWrite(t, b, text, v, i.ID)
		wantState(t, b, text, v)
	}
	mustUnlock(t, b, i)
}

func projects(t *testing.T, s store) {
	other := s
	other.project += "-2"
	a, b := s.open(t), other.open(t)
	ann, bob := info("ann"), info("bob")
	mustLock(t, a, ann)
	mustLock(t, b, bob)
	va := mustWrite(t, a, document{}.with("a").text(), "", ann.ID)
	vb := mustWrite(t, b, document{}.with("b").text(), "", bob.ID)
	wantState(t, a, document{}.with("a").text(), va)
	wantState(t, b, document{}.with("b").text(), vb)
	mustUnlock(t, a, ann)
	wantHolder(t, b, bob)
}

// patient tries again at once where Acquire waits for seconds.
type patient struct{ backend.Backend }

func (p patient) Lock(ctx context.Context, i backend.Info) (time.Duration, error) {
	for {
		lease, err := p.Backend.Lock(ctx, i)
		if _, held := errors.AsType[*backend.HeldError](err); !held {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(20*time.Millisecond + jitter(80*time.Millisecond)):
		}
	}
}

// addLine adds a line to the state under the lock, in so many steps that another who does
// it at the same time would lose one.
func addLine(ctx context.Context, b backend.Backend, who, line string, inside func()) error {
	h, err := backend.Acquire(ctx, patient{b}, info(who), 0, nil)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	inside()
	err = func() error {
		text, v, err := b.Read(ctx)
		var d document
		if err == nil {
			d, err = parse(text)
		} else if errors.Is(err, backend.ErrNone) {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if _, err = h.Write(ctx, d.with(line).text(), v); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return nil
	}()
	inside()
	return errors.Join(err, h.Release(ctx))
}

func writers(t *testing.T, s store) {
	const people, rounds = 16, 20
	var group sync.WaitGroup
	var within atomic.Int32
	for n := range people {
		b := s.open(t)
		group.Go(func() {
			for round := range rounds {
				enters := true
				err := addLine(t.Context(), b, fmt.Sprint("writer ", n), fmt.Sprint(n, " ", round), func() {
					if enters && within.Add(1) != 1 {
						t.Error("two have the lock")
					} else if !enters {
						within.Add(-1)
					}
					enters = false
				})
				if err != nil {
					t.Error(n, round, err)
					return
				}
			}
		})
	}
	group.Wait()
	text, _, err := s.open(t).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d, err := parse(text)
	if err != nil || d.Serial != people*rounds {
		t.Fatalf("serial %d, %v", d.Serial, err)
	}
	wantOnce(t, d.Lines)
	if len(d.Lines) != people*rounds {
		t.Errorf("%d lines, want %d", len(d.Lines), people*rounds)
	}
}

// wantOnce fails if a line is there twice.
func wantOnce(t *testing.T, lines []string) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	for _, line := range lines {
		if seen[line] {
			t.Errorf("%q was written twice", line)
		}
		seen[line] = true
	}
	return seen
}

func unreachable(t *testing.T, s store) {
	l, err := s.listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	l.Close()
	b, err := s.Open(s.address, s.project, backend.Lease)
	if err != nil {
		t.Fatal("opening connects:", err)
	}
	i := info("ann")
	for name, do := range operations(b, i) {
		if err := do(t.Context()); err == nil {
			t.Errorf("%s succeeds", name)
		} else if known(err) {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(err.Error(), s.address) {
			t.Errorf("%s: %v: does not name %s", name, err, s.address)
		}
	}
}

func operations(b backend.Backend, i backend.Info) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"read":   func(ctx context.Context) error { _, _, err := b.Read(ctx); return err },
		"write":  func(ctx context.Context) error { _, err := b.Write(ctx, document{}.text(), "", i.ID); return err },
		"lock":   func(ctx context.Context) error { _, err := b.Lock(ctx, i); return err },
		"unlock": func(ctx context.Context) error { return b.Unlock(ctx, i) },
		"holder": func(ctx context.Context) error { _, err := b.Holder(ctx); return err },
	}
}

// known reports whether err says something of what a backend stores.
func known(err error) bool {
	var held *backend.HeldError
	var lost *backend.LostError
	var changed *backend.ChangedError
	return errors.Is(err, backend.ErrNone) || errors.As(err, &held) || errors.As(err, &lost) || errors.As(err, &changed)
}
