package plan

import (
	"testing"

	"github.com/agentform/agentform/session"
)

// TestMayRun checks that a session is unknown, and not stopped, while it is not known what runs at its place.
func TestMayRun(t *testing.T) {
	for name, c := range map[string]struct {
		live func(*session.Live)
		want session.State
	}{
		"what runs is not known": {func(l *session.Live) { l.Mark.Run, l.Liveness, l.UnknownReason = "", session.Unknown, "it may run" }, session.StateUnknown},
		"another run is there":   {func(l *session.Live) { l.Mark.Run = "run-other" }, session.StateStopped},
	} {
		s := newStage()
		s.record(spec("a"), func(r *session.Record) { r.Override = &session.Override{Desired: session.Stopped} }).live("a", c.live)
		s.in.ByHand = true
		if p := Compute(s.in); len(p.Changes) != 1 || p.Changes[0].State != c.want || p.Changes[0].Action.Acts() {
			t.Errorf("%s: %+v", name, p.Changes)
		}
	}
}
