package backend_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/session"
)

// scripted answers Lock by lock, which gets how often it was called before.
type scripted struct {
	backend.Backend
	lock                     func(ctx context.Context, before int) error
	locked, unlocked, writes atomic.Int32
	writeErr, unlockErr      error
}

func (s *scripted) Lock(ctx context.Context, _ backend.Info) (time.Duration, error) {
	return backend.Lease, s.lock(ctx, int(s.locked.Add(1))-1)
}

func (s *scripted) Unlock(ctx context.Context, _ backend.Info) error {
	s.unlocked.Add(1)
	return errors.Join(ctx.Err(), s.unlockErr)
}

func (s *scripted) Write(context.Context, []byte, backend.Version, string) (backend.Version, error) {
	s.writes.Add(1)
	return "2", s.writeErr
}

var (
	bob            = backend.Info{ID: "2", Who: "bob@host"}
	errUnreachable = errors.New("connection refused")
)

func acquire(t *testing.T, s *scripted) *backend.Hold {
	t.Helper()
	h, err := backend.Acquire(t.Context(), s, backend.Info{ID: "1"}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHoldRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{lock: func(_ context.Context, before int) error {
			if before%2 == 1 {
				return errUnreachable
			}
			return nil
		}}
		h := acquire(t, s)
		time.Sleep(10*backend.Lease + time.Second)
		if s.locked.Load() != 1+3*10 || h.Lost().Err() != nil {
			t.Errorf("locked %d times, lost: %v", s.locked.Load(), context.Cause(h.Lost()))
		}
		if v, err := h.Write(t.Context(), nil, "1"); v != "2" || err != nil {
			t.Error(v, err)
		}
		if err := h.Release(t.Context()); err != nil || s.unlocked.Load() != 1 {
			t.Error(err, s.unlocked.Load())
		}
		time.Sleep(backend.Lease)
		if s.locked.Load() != 1+3*10 {
			t.Error("it renews after the release")
		}
	})
}

// TestHoldLost loses the lock, and looks when that is known.
func TestHoldLost(t *testing.T) {
	for _, c := range []struct {
		name        string
		lock        func(context.Context) error
		from, until time.Duration
		holder      backend.Info
	}{
		{"taken", func(context.Context) error { return &backend.HeldError{Holder: bob} }, 0, backend.Lease / 2, bob},
		{"forced", func(context.Context) error { return &backend.LostError{Holder: bob} }, 0, backend.Lease / 2, bob},
		{"unreachable", func(context.Context) error { return errUnreachable }, backend.Lease / 2, backend.Lease, backend.Info{}},
		{"no answer", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, backend.Lease / 2, backend.Lease, backend.Info{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := &scripted{unlockErr: &backend.LostError{}, lock: func(ctx context.Context, before int) error {
					if before == 0 {
						return nil
					}
					return c.lock(ctx)
				}}
				h := acquire(t, s)
				<-h.Lost().Done()
				if after := time.Since(began); after < c.from || after > c.until {
					t.Errorf("lost after %v", after)
				}
				for _, err := range []error{context.Cause(h.Lost()), func() error { _, err := h.Write(t.Context(), nil, "1"); return err }()} {
					if lost, ok := errors.AsType[*backend.LostError](err); !ok || lost.Holder != c.holder {
						t.Error(err)
					}
				}
				if s.writes.Load() != 0 {
					t.Error("it writes without the lock")
				}
				if err := h.Release(t.Context()); !errors.Is(err, s.unlockErr) {
					t.Error(err)
				}
			})
		})
	}
}

func TestHoldLostByWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{writeErr: &backend.LostError{Holder: bob}, lock: func(context.Context, int) error { return nil }}
		h := acquire(t, s)
		for range 2 {
			if _, err := h.Write(t.Context(), nil, "1"); !errors.Is(err, s.writeErr) {
				t.Error(err)
			}
		}
		if s.writes.Load() != 1 || h.Lost().Err() == nil {
			t.Error(s.writes.Load(), h.Lost().Err())
		}
		_ = h.Release(t.Context())
	})
}

func TestAcquireWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &scripted{lock: func(context.Context, int) error {
			if time.Since(began) < 2*time.Minute {
				return &backend.HeldError{Holder: bob}
			}
			return nil
		}}
		told := 0
		waiting := func(i backend.Info) {
			if told++; i != bob {
				t.Error(i)
			}
		}
		_, err := backend.Acquire(t.Context(), s, backend.Info{ID: "1"}, time.Minute, waiting)
		if _, ok := errors.AsType[*backend.HeldError](err); !ok || time.Since(began) != time.Minute || told != int(s.locked.Load())-1 || s.unlocked.Load() != 0 {
			t.Errorf("%v after %v, %d tries, told %d times", err, time.Since(began), s.locked.Load(), told)
		}
		h, err := backend.Acquire(t.Context(), s, backend.Info{ID: "1"}, time.Hour, waiting)
		if after := time.Since(began); err != nil || after > 2*time.Minute+16*time.Second {
			t.Fatal(after, err)
		}
		_ = h.Release(t.Context())
	})
}

// TestAcquireUndoes: a lock whose answer was lost is released, also when the user gave up.
func TestAcquireUndoes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &scripted{lock: func(context.Context, int) error { cancel(); return errUnreachable }}
	if _, err := backend.Acquire(ctx, s, backend.Info{ID: "1"}, time.Hour, nil); !errors.Is(err, errUnreachable) || s.unlocked.Load() != 1 {
		t.Error(err, s.unlocked.Load())
	}
}

// TestLead waits for a lead through errors and changes of the holder.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eve := backend.Info{ID: "3", Who: "eve@host"}
		answers := []error{&backend.HeldError{Holder: bob}, &backend.HeldError{Holder: bob}, errUnreachable, &backend.HeldError{Holder: eve}}
		s := &scripted{lock: func(_ context.Context, before int) error {
			if before < len(answers) {
				return answers[before]
			}
			return nil
		}}
		var told []string
		began := time.Now()
		h, err := backend.Lead(t.Context(), s, backend.Info{ID: "1"},
			func(holder backend.Info) { told = append(told, holder.Who) }, func(err error) { told = append(told, err.Error()) })
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Duration(len(answers))*time.Second {
			t.Errorf("took %v", took)
		}
		if want := []string{bob.Who, errUnreachable.Error(), eve.Who}; !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		s := &scripted{lock: func(context.Context, int) error { return &backend.HeldError{Holder: bob} }}
		ctx, cancel := context.WithCancel(t.Context())
		_, err := backend.Lead(ctx, s, backend.Info{ID: "1"}, func(backend.Info) { cancel() }, nil)
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// TestHolderHasEnded checks that the lock of a process of this machine that has ended is released,
// and that of no other.
func TestHolderHasEnded(t *testing.T) {
	here := session.Owner{BootID: "boot", UID: os.Getuid()}
	child := exec.Command(os.Args[0], "-test.run=^$")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := backend.ProcessOf(child.Process.Pid, here)
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	with := func(change func(*backend.Process)) *backend.Process {
		p := *ended
		change(&p)
		return &p
	}
	for name, c := range map[string]struct {
		holder *backend.Process
		freed  bool
	}{
		"has ended":          {ended, true},
		"runs":               {backend.ProcessOf(os.Getpid(), here), false},
		"another machine":    {with(func(p *backend.Process) { p.BootID = "another" }), false},
		"another container":  {with(func(p *backend.Process) { p.PIDNamespace = "4026531836" }), false},
		"another user":       {with(func(p *backend.Process) { p.UID++ }), false},
		"not known":          {nil, false},
		"cannot be read":     {backend.ProcessOf(1<<30, here), false},
		"known only in part": {&backend.Process{}, false},
	} {
		s := &scripted{}
		s.lock = func(context.Context, int) error {
			if s.unlocked.Load() > 0 {
				return nil
			}
			return &backend.HeldError{Holder: backend.Info{ID: "2", Process: c.holder}}
		}
		h, err := backend.Acquire(t.Context(), s, backend.Info{ID: "1", Process: backend.ProcessOf(os.Getpid(), here)}, 0, nil)
		if (err == nil) != c.freed || (s.unlocked.Load() > 0) != c.freed {
			t.Errorf("%s: %v, unlocked %d times", name, err, s.unlocked.Load())
		}
		if err == nil {
			_ = h.Release(t.Context())
		}
	}
}
