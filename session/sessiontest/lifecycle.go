package sessiontest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/agentform/agentform/session"
)

func emptyIsNoError(t *testing.T, h Harness) {
	if lives := h.observe(t, true); len(lives) != 0 {
		t.Errorf("%d sessions in a new runtime: %+v", len(lives), lives)
	}
}

func createdIsSeen(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	live := h.see(t, l.Name)
	switch {
	case live.Mark != l.Mark:
		t.Errorf("mark %+v, want it as given: %+v", live.Mark, l.Mark)
	case live.Location != p:
		t.Errorf("place %+v, want the one that create returned: %+v", live.Location, p)
	case live.Foreign || !live.PlaceUp || live.Liveness != session.Alive || live.Exit != nil:
		t.Errorf("foreign %v, up %v, %s, exit %+v; want ours, up, alive, none", live.Foreign, live.PlaceUp, live.Liveness, live.Exit)
	case live.Started.IsZero() || h.Runtime.Traits().HostFiles && (live.Agent.PID == 0 || live.BootID == ""):
		t.Errorf("agent %+v, started %v, boot %q; want all known", live.Agent, live.Started, live.BootID)
	case live.Size[0] <= 0 || live.Size[1] <= 0:
		t.Errorf("size %v", live.Size)
	}
	h.unpaused(t, l.Name)
}

func takenName(t *testing.T, h Harness) {
	_, first := h.create(t, "app-web-a1b2c3")
	if _, err := h.Runtime.Create(t.Context(), h.Launch(t, first.Name)); !errors.Is(err, session.ErrExists) {
		t.Errorf("create again: %v, want ErrExists", err)
	}
	if live := h.see(t, first.Name); live.Mark.Run != first.Mark.Run || live.Liveness != session.Alive {
		t.Errorf("run %s, %s; want the first one, alive", live.Mark.Run, live.Liveness)
	}
}

func stopped(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	h.stop(t, p, l)
	live := h.see(t, l.Name)
	if !live.PlaceUp || live.Liveness != session.Dead {
		t.Errorf("place up %v, agent %s; want a standing place and a dead agent, at once", live.PlaceUp, live.Liveness)
	}
	if live.Exit == nil || live.Exit.Cause != session.CauseRequested {
		t.Errorf("exit %+v, want one that was requested", live.Exit)
	}
	h.stop(t, p, l)
}

func stopOfAnotherRun(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	if err := h.Runtime.Stop(t.Context(), p, otherRun, l.Stop); err != nil {
		t.Errorf("stop of a run that is not there: %v", err)
	}
	if err := h.Runtime.Stop(t.Context(), session.Location{}, otherRun, l.Stop); err != nil {
		t.Errorf("stop of a run whose place is not known: %v", err)
	}
	if live := h.see(t, l.Name); live.Liveness != session.Alive {
		t.Errorf("the agent is %s; it was not its run that was stopped", live.Liveness)
	}
}

func restarts(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	h.Exit(t, p, 1)
	h.dies(t, l.Name)
	next := h.Launch(t, l.Name)
	again, err := h.Runtime.Restart(t.Context(), p, next)
	if err != nil {
		t.Fatalf("restart: %v", err)
	}
	if again != p {
		t.Errorf("restarted in %+v, want the same place: %+v", again, p)
	}
	live := h.see(t, l.Name)
	if live.Mark != next.Mark || live.Liveness != session.Alive || live.Exit != nil {
		t.Errorf("mark %+v, %s, exit %+v; want the new run's, alive", live.Mark, live.Liveness, live.Exit)
	}
	h.remove(t, p)
	if _, err := h.Runtime.Restart(t.Context(), p, h.Launch(t, l.Name)); !errors.Is(err, session.ErrGone) {
		t.Errorf("restart of a removed place: %v, want ErrGone", err)
	}
}

func restartAlive(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	if _, err := h.Runtime.Restart(t.Context(), p, h.Launch(t, l.Name)); err == nil {
		t.Error("restarted over a live agent")
	}
	if live := h.see(t, l.Name); live.Mark != l.Mark || live.Liveness != session.Alive {
		t.Errorf("run %s, %s; want the first one, alive", live.Mark.Run, live.Liveness)
	}
}

func removed(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	h.stop(t, p, l)
	for range 2 { // the second time it is gone
		h.remove(t, p)
	}
	h.create(t, l.Name)
}

func removedAlive(t *testing.T, h Harness) {
	p, _ := h.create(t, "app-web-a1b2c3")
	h.remove(t, p)
}

func goneSaysSo(t *testing.T, h Harness) {
	h.create(t, "app-other-ffffff") // the server keeps running
	p, l := h.create(t, "app-web-a1b2c3")
	h.remove(t, p)
	ctx, r := t.Context(), h.Runtime
	_, capture := r.Capture(ctx, p, 10)
	for what, err := range map[string]error{
		"send":    r.Send(ctx, p, session.Input{Text: "x"}),
		"pause":   r.Pause(ctx, p, l.Mark.Run, session.Detach),
		"resume":  r.Resume(ctx, p, l.Mark.Run),
		"capture": capture,
	} {
		if !errors.Is(err, session.ErrGone) {
			t.Errorf("%s: %v, want ErrGone", what, err)
		}
	}
	h.stop(t, p, l)
}

func exitCode(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	h.Exit(t, p, 7)
	live := h.dies(t, l.Name)
	if e := live.Exit; !live.PlaceUp || e == nil || e.Cause != session.CauseSelf || e.Code != 7 || e.Signal != "" {
		t.Errorf("place up %v, exit %+v; want a standing place, exit status 7 by itself", live.PlaceUp, e)
	}
}

func exitSignal(t *testing.T, h Harness) {
	p, l := h.create(t, "app-web-a1b2c3")
	h.Kill(t, p)
	if e := h.dies(t, l.Name).Exit; e == nil || e.Signal != "SIGKILL" {
		t.Errorf("exit %+v, want SIGKILL", e)
	}
}

func foreign(t *testing.T, h Harness) {
	h.create(t, "app-other-ffffff")
	p := h.Foreign(t, "someones")
	theirs := session.Mark{Project: "someone else", Run: otherRun}
	ctx, r := t.Context(), h.Runtime
	_, create := r.Create(ctx, h.Launch(t, p.Name))
	_, restart := r.Restart(ctx, p, h.Launch(t, p.Name))
	for what, err := range map[string]error{
		"create":  create,
		"restart": restart,
		"remove":  r.Remove(ctx, p),
		"send":    r.Send(ctx, p, session.Input{Text: "x"}),
		"pause":   r.Pause(ctx, p, theirs.Run, session.Detach),
		"resume":  r.Resume(ctx, p, theirs.Run),
	} {
		if err == nil {
			t.Errorf("%s: it changed a foreign object", what)
		}
	}
	if live := h.see(t, p.Name); !live.Foreign || live.InputOff {
		t.Errorf("foreign %v, input off %v; want it as it was", live.Foreign, live.InputOff)
	}
}

func manyAtOnce(t *testing.T, h Harness) {
	const n = 20
	var wg sync.WaitGroup
	launches := make([]session.Launch, n)
	for i := range n {
		launches[i] = h.Launch(t, fmt.Sprintf("app-n%d-000000", i))
		wg.Go(func() {
			if _, err := h.Runtime.Create(t.Context(), launches[i]); err != nil {
				t.Errorf("create %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	marks := map[session.Mark]bool{}
	for _, l := range h.observe(t, false) {
		if l.Liveness != session.Alive {
			t.Errorf("%s is %s", l.Location.Name, l.Liveness)
		}
		marks[l.Mark] = true
	}
	for _, l := range launches {
		if !marks[l.Mark] {
			t.Errorf("%s does not exist", l.Name)
		}
	}
	if len(marks) != n {
		t.Errorf("%d sessions, want %d", len(marks), n)
	}
}

func oneNameAtOnce(t *testing.T, h Harness) {
	const n = 6
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		l := h.Launch(t, "app-web-a1b2c3")
		wg.Go(func() { _, errs[i] = h.Runtime.Create(t.Context(), l) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !errors.Is(err, session.ErrExists) {
			t.Errorf("create: %v, want ErrExists", err)
		}
	}
	if lives := h.observe(t, false); won != 1 || len(lives) != 1 {
		t.Errorf("%d of %d won, %d sessions; want one", won, n, len(lives))
	}
}

func secrets(t *testing.T, h Harness) {
	const value = "hunter2 \"and\" $more\nof it"
	l := h.Launch(t, "app-web-a1b2c3")
	l.Secrets = map[string]string{"TOKEN": value}
	p, err := h.Runtime.Create(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Environment(t, p, "TOKEN"); got != value {
		t.Errorf("the agent has %q, want %q", got, value)
	}
	if strings.Contains(h.Visible(t, p), "hunter2") {
		t.Error("the secret can be seen from outside")
	}
}
