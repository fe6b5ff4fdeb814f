package sessiontest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

func launch(name, run string) session.Launch {
	return session.Launch{Name: name, Mark: session.Mark{Project: "p", Address: session.Single(name), Run: run}, Dir: "/work"}
}

func one(t *testing.T, s *sessiontest.Scripted) session.Live {
	t.Helper()
	lives, err := s.Observe(context.Background(), true)
	if err != nil || len(lives) != 1 {
		t.Fatalf("observe: %d sessions, %v; want one", len(lives), err)
	}
	return lives[0]
}

func TestScriptPlaysOnTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessiontest.New("p")
		s.Script("a",
			sessiontest.Step{After: 3 * time.Second, Screen: "ready>", Title: "idle"},
			sessiontest.Step{After: time.Minute, Exit: &session.Exit{Code: 3}})
		s.Script("a")
		p, err := s.Create(t.Context(), launch("a", "r1"))
		if err != nil {
			t.Fatal(err)
		}
		if l := one(t, s); l.Screen != "" || l.Liveness != session.Alive {
			t.Errorf("at once: %+v, want a blank screen and a live agent", l)
		}
		time.Sleep(3 * time.Second)
		if l := one(t, s); l.Screen != "ready>" || l.Title != "idle" {
			t.Errorf("after 3s: screen %q, title %q", l.Screen, l.Title)
		}
		time.Sleep(time.Hour)
		l := one(t, s)
		if l.Liveness != session.Dead || l.Exit == nil || l.Exit.Code != 3 || l.Exit.Cause != "self" || l.Exit.Ran.D() != time.Minute {
			t.Errorf("after an hour: liveness %s, exit %+v, want 3 after a minute", l.Liveness, l.Exit)
		}
		if _, err := s.Restart(t.Context(), p, launch("a", "r2")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if l := one(t, s); l.Liveness != session.Alive || l.Mark.Run != "r2" {
			t.Errorf("second run: %s in run %s, want its own, empty script", l.Liveness, l.Mark.Run)
		}
	})
}

func TestFaults(t *testing.T) {
	s := sessiontest.New("p")
	boom := errors.New("boom")
	s.Faults.Fail(sessiontest.OpCreate, 2, boom)
	s.Faults.FailAfter(sessiontest.OpCreate, 3, boom)
	for i, c := range []struct {
		name string
		err  error
		left int
	}{{"a", nil, 1}, {"b", boom, 1}, {"c", boom, 2}, {"d", nil, 3}} {
		if _, err := s.Create(t.Context(), launch(c.name, c.name)); !errors.Is(err, c.err) {
			t.Errorf("create %d: %v, want %v", i, err, c.err)
		}
		if n := len(s.Places()); n != c.left {
			t.Errorf("create %d: %d places, want %d", i, n, c.left)
		}
	}
	s.Faults.Unreachable(boom)
	if lives, err := s.Observe(t.Context(), false); !errors.Is(err, boom) || lives != nil {
		t.Errorf("observe: %v, %v, want nothing but the error", lives, err)
	}
	s.Faults.Unreachable(nil)
	if _, err := s.Observe(t.Context(), false); err != nil {
		t.Errorf("observe again: %v", err)
	}
	if n := len(s.Calls()); n != 4 {
		t.Errorf("%d calls noted, want 4", n)
	}
}

func TestSlowHonoursTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessiontest.New("p")
		s.Faults.Slow(sessiontest.OpCreate, time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Create(ctx, launch("a", "r")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("create: %v, want the deadline", err)
		}
		if n := s.Places(); len(n) != 0 {
			t.Errorf("places %v, want none", n)
		}
	})
}

func TestVanishedRunIsRemembered(t *testing.T) {
	s := sessiontest.New("p")
	if _, err := s.Create(t.Context(), launch("a", "r")); err != nil {
		t.Fatal(err)
	}
	if f := s.Facts("r"); !f.Claimed || !f.Alive {
		t.Errorf("facts of a live run: %+v", f)
	}
	s.Vanish("a")
	if f := s.Facts("r"); !f.Claimed || f.Alive || f.Exit == nil || f.Exit.Cause != "hangup" {
		t.Errorf("facts of a vanished run: %+v", f)
	}
	if _, err := s.Create(t.Context(), launch("a", "r")); err == nil {
		t.Error("a run was started twice")
	}
}

func TestFailedStart(t *testing.T) {
	s := sessiontest.New("p")
	s.Script("a", sessiontest.Step{Exit: &session.Exit{Cause: "failed_start", Detail: "no such program"}})
	if _, err := s.Create(t.Context(), launch("a", "r")); err == nil {
		t.Error("created a session whose agent could not be started")
	}
	if n := s.Places(); len(n) != 0 {
		t.Errorf("places %v, want none", n)
	}
}

func TestScriptedConforms(t *testing.T) { conforms(t, session.TraitsOf("scripted")) }

// TestRemoteConforms passes the suite with a runtime that shares neither files nor
// processes with this machine and cannot freeze an agent.
func TestRemoteConforms(t *testing.T) {
	conforms(t, session.Traits{OwnHome: true, Sandbox: true, Noun: "pod"})
}

func conforms(t *testing.T, traits session.Traits) {
	sessiontest.Suite(t, func(t *testing.T) sessiontest.Harness {
		s := sessiontest.NewWith("lineage", traits)
		runs := 0
		return sessiontest.Harness{
			Runtime: s,
			Lineage: "lineage",
			Launch: func(t *testing.T, name string) session.Launch {
				runs++
				l := launch(name, fmt.Sprintf("%016x", runs))
				l.Mark.Project, l.RunDir = "lineage", "/runs/"+l.Mark.Run
				return l
			},
			Exit: func(t *testing.T, p session.Location, code int) { s.Exit(p.Name, session.Exit{Code: code}) },
			Kill: func(t *testing.T, p session.Location) { s.Kill(p.Name) },
			Say: func(t *testing.T, p session.Location, lines ...string) {
				s.Edit(p.Name, func(st *sessiontest.State) { st.Live.Screen += strings.Join(lines, "\n") + "\n" })
			},
			Heard: func(t *testing.T, p session.Location) []string {
				st, _ := s.State(p.Name)
				return lines(st.Sent)
			},
			Environment: func(t *testing.T, p session.Location, name string) string {
				st, _ := s.State(p.Name)
				return st.Launch.Secrets[name]
			},
			Visible: func(t *testing.T, p session.Location) string {
				st, _ := s.State(p.Name)
				return fmt.Sprint(st.Launch.Argv, st.Launch.Env, st.Live)
			},
			Foreign: func(t *testing.T, name string) session.Location {
				return s.Plant(session.Live{Location: session.Location{Name: name}, PlaceUp: true, Liveness: session.Alive})
			},
		}
	})
}

// lines is what was typed, as a terminal in line mode would hand it on.
func lines(sent []session.Input) []string {
	var all, line string
	for _, in := range sent {
		line += in.Text
		if in.Key == "Enter" || in.Key == "" && !in.NoEnter {
			all += line + "\n"
			line = ""
		}
	}
	if all == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(all, "\n"), "\n")
}
