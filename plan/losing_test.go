package plan

import (
	"testing"

	"github.com/agentform/agentform/session"
)

// TestLosing checks that a workspace that is about to be lost is reported, and that nothing is
// planned for it.
func TestLosing(t *testing.T) {
	const why = "its claim is being deleted"
	losing := func(l *session.Live) { l.Losing = why }
	p := Compute(newStage().want(spec("a"), spec("b")).record(spec("a")).record(spec("b")).live("a", losing).live("b").in)
	if len(p.Problems) != 1 || p.Problems[0].Severity != session.Warning || p.Problems[0].Address != "session.a" || p.Problems[0].Detail != why || p.Problems[0].Remedy.Code != session.RemedyFetchWork {
		t.Errorf("problems: %+v", p.Problems)
	}
	if len(p.Drift) != 1 || p.Drift[0].Kind != Changed || p.Drift[0].Detail != why || p.Drift[0].Remedy.Code != session.RemedyFetchWork {
		t.Errorf("drift: %+v", p.Drift)
	}
	for _, c := range p.Changes {
		if c.Action != None {
			t.Errorf("%s %s", c.Address, c.Action)
		}
	}
	ending := newStage().want(spec("a")).record(spec("a")).live("a", losing)
	ending.in.Options.Restart = []session.Address{"session.a"}
	if p := Compute(ending.in); len(p.Problems) != 1 {
		t.Errorf("with a restart: %+v", p.Problems)
	}
	if p := Compute(newStage().want(spec("a")).record(spec("a")).live("a", losing).byHub().in); len(p.Problems) != 0 || len(p.Drift) != 1 {
		t.Errorf("by the hub: %+v, %+v", p.Problems, p.Drift)
	}
}
