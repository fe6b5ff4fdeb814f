package plan

import (
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestUnderWay: what a running command does is not called interrupted, and what it does
// not do is.
func TestUnderWay(t *testing.T) {
	writer := session.Writer{Name: "agentform apply (pid 7)", Since: now.Add(-time.Minute)}
	saved := func(at time.Time, i session.Intent, lastError string) func(*session.Record) {
		return func(r *session.Record) { r.UpdatedAt, r.Intent, r.LastError = at, i, lastError }
	}
	for name, x := range map[string]struct {
		stage  *stage
		writer session.Writer
		state  session.State
		reason Reason
		detail string
		plans  string
	}{
		"a creation": {newStage().record(spec("a"), saved(now, session.Creating, "")), writer,
			session.StatePending, ReasonUnderWay, "being created by agentform apply (pid 7)", "being created by agentform apply (pid 7)"},
		"without a writer": {newStage().record(spec("a"), saved(now, session.Creating, "")), session.Writer{},
			session.StatePending, ReasonInterrupted, "its creation was interrupted", "its creation was interrupted"},
		"begun before the writer started": {newStage().record(spec("a"), saved(now.Add(-time.Hour), session.Creating, "")), writer,
			session.StatePending, ReasonInterrupted, "its creation was interrupted", "its creation was interrupted"},
		"failed while the writer goes on": {newStage().record(spec("a"), saved(now, session.Creating, "setup: exit 1")), writer,
			session.StateError, ReasonInterrupted, "its creation failed: setup: exit 1", "last attempt failed: setup: exit 1"},
		"a restart": {newStage().record(spec("a"), saved(now, session.Restarting, "")), writer,
			session.StatePending, ReasonUnderWay, "being restarted by agentform apply (pid 7)", "being restarted by agentform apply (pid 7)"},
		"a removal": {newStage().record(spec("a"), saved(now, session.Removing, "")), writer,
			session.StateStopped, ReasonUnderWay, "being removed by agentform apply (pid 7)", "being removed by agentform apply (pid 7)"},
		"a stop": {newStage().record(spec("a"), saved(now, session.Stopping, "")), writer,
			session.StateStopped, ReasonUnderWay, "being stopped by agentform apply (pid 7)", "declared running"},
		"a restart whose agent runs already": {newStage().live("a").record(spec("a"), saved(now, session.Restarting, "")), writer,
			session.StateRunning, ReasonInSync, "running", "being restarted by agentform apply (pid 7)"},
		"a creation whose place was looked for too early": {newStage().record(spec("a"), saved(now, session.Creating, "")).lost(7), writer,
			session.StatePending, ReasonUnderWay, "being created by agentform apply (pid 7)", "being created by agentform apply (pid 7)"},
		"the same, without a writer": {newStage().record(spec("a"), saved(now, session.Creating, "")).lost(7), session.Writer{},
			session.StateUnknown, ReasonUnreachable, "its tmux session cannot be found, but its agent is running (process 7)", "its tmux session cannot be found, but its agent is running (process 7)"},
		"a stop that has lost the place": {newStage().record(spec("a"), saved(now, session.Stopping, "")).lost(9), writer,
			session.StateUnknown, ReasonUnreachable, "its tmux session cannot be found, but its agent is running (process 9)", "its tmux session cannot be found, but its agent is running (process 9)"},
		"nothing": {newStage().live("a").record(spec("a"), saved(now, session.Settled, "")), writer,
			session.StateRunning, ReasonInSync, "running", "running"},
	} {
		t.Run(name, func(t *testing.T) {
			in := x.stage.want(spec("a")).in
			in.World.Writer = x.writer
			p := Compute(in)
			if len(p.Changes) != 1 {
				t.Fatalf("%+v", p.Changes)
			}
			c := p.Changes[0]
			if d := Diagnose(c.Before, c.Live, in.World); d.State != x.state || d.Reason != x.reason || d.Detail != x.detail {
				t.Errorf("diagnosed %+v", d)
			}
			if c.Detail != x.plans {
				t.Errorf("planned %s %s: %q, want %q", c.Action, c.Reason, c.Detail, x.plans)
			}
		})
	}
}

// lost lets the agent of session a run as that process in a place that is not found.
func (s *stage) lost(pid int) *stage {
	s.in.World.Runs["run-a"] = session.RunFacts{Claimed: true, Alive: true, Agent: session.Process{PID: pid}}
	return s
}

// What takes a place of max_running is counted in the plan, in which it stays: an agent that is alive, cannot be
// seen or is being started, and none that is to be started or ended.
func TestRunning(t *testing.T) {
	unseen := func(l *session.Live) { l.Liveness, l.UnknownReason = session.Unknown, "made just now" }
	s := newStage().all(spec("alive")).record(spec("frozen")).live("frozen", func(l *session.Live) { l.Frozen = true }).
		record(spec("unseen")).live("unseen", unseen).
		record(spec("begins"), func(r *session.Record) { r.UpdatedAt, r.Intent = now, session.Creating }).
		record(restartable("died")).live("died", died(time.Hour)).byHub()
	s.in.World.Writer = session.Writer{Name: "agentform serve (pid 7)", Since: now.Add(-time.Minute)}
	s.in.Options.MaxRunning = 4
	if p := Compute(s.in); p.Running != 4 {
		t.Errorf("%d run, want 4\n%s", p.Running, story(p))
	}
	s = newStage().all(spec("stays")).want(spec("new")).record(spec("goes")).live("goes")
	if p := Compute(s.in); p.Running != 1 {
		t.Errorf("%d run, want 1\n%s", p.Running, story(p))
	}
}

// TestHubLeavesWhatIsUnderWay: a start that a command is making is none that the hub
// waits with, and has a place of max_running.
func TestHubLeavesWhatIsUnderWay(t *testing.T) {
	for _, intent := range []session.Intent{session.Creating, session.Restarting, session.Stopping, session.Removing} {
		s := newStage().record(restartable("a"), func(r *session.Record) { r.UpdatedAt, r.Intent = now, intent }).
			record(restartable("b")).live("b", died(time.Hour)).byHub()
		s.in.World.Writer = session.Writer{Name: "agentform serve (pid 7)", Since: now.Add(-time.Minute)}
		s.in.Options.MaxRunning = 1
		p := Compute(s.in)
		if c := p.Changes[0]; c.Action != Hold || c.Reason != ReasonUnderWay || c.Restarts != nil {
			t.Errorf("%s: %s %s: %s (%+v)", intent, c.Action, c.Reason, c.Detail, c.Restarts)
		}
		starts := intent == session.Creating || intent == session.Restarting
		if c := p.Changes[1]; (c.Reason == ReasonQueued) != starts {
			t.Errorf("%s: beside it %s %s: %s", intent, c.Action, c.Reason, c.Detail)
		}
	}
}
