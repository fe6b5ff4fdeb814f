//go:build real

package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/test/wait"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
)

func TestStop(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		signal string
		grace  time.Duration
		want   rundir.Exit // Cause, Code, Signal, Leftovers
	}{
		"polite":         {"trap 'exit 9' TERM; touch up; sleep 60 & wait", "", 5 * time.Second, rundir.Exit{Code: 9}},
		"another signal": {"trap 'exit 8' USR1; touch up; sleep 60 & wait", "USR1", 5 * time.Second, rundir.Exit{Code: 8}},
		"ignores TERM":   {"trap '' TERM; touch up; while :; do sleep 0.05; done", "SIGTERM", 100 * time.Millisecond, rundir.Exit{Signal: "SIGKILL"}},
		"no grace":       {"touch up; exec sleep 60", "SIGTERM", 0, rundir.Exit{Signal: "SIGKILL"}},
		"froze itself":   {"(sleep 0.05; touch up) & kill -STOP $$; exit 3", "SIGTERM", 5 * time.Second, rundir.Exit{Signal: "SIGTERM"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := prepare(t, c.script, nil)
			cmd, f := r.running()
			exit := r.stop(c.signal, c.grace)
			if f.Agent.Alive() {
				t.Error("the agent lives after the answer")
			}
			_, written := r.ended(cmd)
			if exit != written {
				t.Errorf("answered %+v, wrote %+v", exit, written)
			}
			if exit.Cause != rundir.CauseRequested || exit.Code != c.want.Code || exit.Signal != c.want.Signal {
				t.Errorf("exit is %+v, want %+v", exit, c.want)
			}
		})
	}
}

// daemon starts an orphan in its own session that ignores every signal it can.
const daemon = `(setsid sh -c 'trap "" TERM HUP INT; echo $$ > daemon; while :; do sleep 0.05; done' &) ; `

func TestStopEndsDaemons(t *testing.T) {
	r := prepare(t, daemon+"until test -s daemon; do sleep 0.01; done; touch up; exec sleep 60", nil)
	cmd, _ := r.running()
	p := r.pid("daemon")
	if exit := r.stop("SIGTERM", 200*time.Millisecond); p.Alive() || exit.Leftovers == 0 {
		t.Errorf("daemon alive: %v, exit is %+v", p.Alive(), exit)
	}
	r.ended(cmd)
}

func TestAgentLeavesADaemonBehind(t *testing.T) {
	r := prepare(t, daemon+"until test -s daemon; do sleep 0.01; done; until test -e go; do sleep 0.01; done; exit 6", nil)
	cmd := r.start()
	p := r.pid("daemon")
	if err := os.WriteFile(filepath.Join(r.work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	status, exit := r.ended(cmd)
	if p.Alive() || exit.Leftovers == 0 || exit.Cause != rundir.CauseSelf || exit.Code != 6 || status.ExitStatus() != 6 {
		t.Errorf("daemon alive: %v, exit is %+v", p.Alive(), exit)
	}
}

func TestSecondStopShortensTheFirst(t *testing.T) {
	r := prepare(t, "trap '' TERM; touch up; while :; do sleep 0.05; done", nil)
	cmd, _ := r.running()
	first := make(chan error, 1)
	c, asks := r.client(), r.client() // not one per request: a shim has few slots
	go func() { _, err := c.Stop(context.Background(), "", time.Hour); first <- err }()
	wait.For(t, "the shim is ending", func() (any, bool) {
		s, err := asks.Status(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return s, s.Ending == rundir.CauseRequested
	})
	if err := r.client().Pause(context.Background()); codeOf(err) != shim.CodeEnding {
		t.Errorf("pausing while it ends: %v", err)
	}
	if exit := r.stop("", 0); exit.Signal != "SIGKILL" { // not after the first stop's grace of an hour
		t.Errorf("exit is %+v", exit)
	}
	if err := <-first; err != nil {
		t.Errorf("the first stop was answered %v", err)
	}
	r.ended(cmd)
}

func codeOf(err error) string {
	if e, ok := errors.AsType[*shim.Error](err); ok {
		return e.Code
	}
	return ""
}

func TestReapsOrphans(t *testing.T) {
	r := prepare(t, "for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 0.01 &); done; sleep 0.2; touch up; exec sleep 60", nil)
	_, f := r.running()
	wait.For(t, "only the agent is left", func() (any, bool) { below := proc.Descendants(f.Shim.PID); return below, len(below) == 1 })
	r.stop("", 0)
}

func TestTimeout(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil, func(c *rundir.Config) { c.Timeout = 200 * time.Millisecond })
	if _, exit := r.ended(r.start()); exit.Cause != rundir.CauseTimeout || exit.Signal != "SIGTERM" || exit.Ran < 200*time.Millisecond || exit.Ran > 5*time.Second {
		t.Errorf("exit is %+v", exit)
	}
}

func TestSetChangesARunUnderWay(t *testing.T) {
	r := prepare(t, "trap 'exit 2' INT; touch up; sleep 60 & wait", nil)
	cmd, _ := r.running()
	c := r.client()
	ctx := context.Background()
	short, negative, bad, sig := 50*time.Millisecond, -time.Second, "SIGSTOP", "INT"
	for _, s := range []shim.Settings{{Timeout: &negative}, {Grace: &negative}, {Signal: &bad}, {Timeout: &short, Signal: &bad}} {
		if err := c.Set(ctx, s); codeOf(err) != shim.CodeInvalid {
			t.Errorf("Set %+v: %v", s, err)
		}
	}
	if s, err := c.Status(ctx); err != nil || s.Timeout != 0 || s.Signal != "SIGTERM" || s.Grace != 10*time.Second {
		t.Errorf("a refused change changed something: %+v, %v", s, err)
	}
	if err := c.Set(ctx, shim.Settings{Timeout: &short, Signal: &sig}); err != nil {
		t.Fatal(err)
	}
	if _, exit := r.ended(cmd); exit.Cause != rundir.CauseTimeout || exit.Code != 2 {
		t.Errorf("exit is %+v", exit)
	}
}

func TestFreeze(t *testing.T) {
	r := prepare(t, `sh -c 'i=0; while :; do i=$((i+1)); echo $i > child; sleep 0.01; done' &
		echo 0 > agent; until [ -e child ]; do sleep 0.01; done
		touch up; i=0; while :; do i=$((i+1)); echo $i > agent; sleep 0.01; done`, nil)
	cmd, f := r.running()
	ctx := context.Background()
	const rest = 3 * time.Second
	timeout := time.Since(f.StartedAt) + rest
	if err := r.client().Set(ctx, shim.Settings{Timeout: &timeout}); err != nil {
		t.Fatal(err)
	}
	if err := r.client().Pause(ctx); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(r.work, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	agent, child := read("agent"), read("child")
	s, err := r.client().Status(ctx)
	if err != nil || !s.Frozen {
		t.Fatalf("status is %+v, %v", s, err)
	}
	time.Sleep(rest + 100*time.Millisecond)
	if a, c := read("agent"), read("child"); a != agent || c != child {
		t.Errorf("frozen, and yet agent %q is %q, child %q is %q", agent, a, child, c)
	}
	if later, err := r.client().Status(ctx); err != nil || later.Ran != s.Ran || !f.Agent.Alive() {
		t.Errorf("the clock went on: %v, then %v (%v)", s.Ran, later.Ran, err)
	}
	for range 2 {
		if err := r.client().Resume(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wait.For(t, "both go on", func() (any, bool) { a, c := read("agent"), read("child"); return []any{a, c}, a != agent && c != child })
	if _, exit := r.ended(cmd); exit.Cause != rundir.CauseTimeout {
		t.Errorf("exit is %+v", exit)
	}
}

func TestFrozenRunStops(t *testing.T) {
	r := prepare(t, "trap 'exit 4' TERM; touch up; while :; do sleep 0.02; done", nil)
	cmd, _ := r.running()
	if err := r.client().Pause(context.Background()); err != nil {
		t.Fatal(err)
	}
	if exit := r.stop("", 5*time.Second); exit.Code != 4 {
		t.Errorf("exit is %+v", exit)
	}
	r.ended(cmd)
}

func TestStopEndsWhatFlees(t *testing.T) {
	r := prepare(t, `echo '[ ! -e on ] || sh hop &' > hop; touch on; sh hop; touch up; exec sleep 60`, nil)
	cmd, _ := r.running()
	r.stop("SIGTERM", 100*time.Millisecond)
	if _, exit := r.ended(cmd); exit.Cause != rundir.CauseRequested {
		t.Errorf("exit is %+v", exit)
	}
}
