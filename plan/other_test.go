package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// No agent starts beside one of the same session, or in a workspace in which one works, that
// is not in the state.
func TestOtherAgent(t *testing.T) {
	lost := func(change ...func(*session.Live)) session.Live {
		l := session.Live{
			Mark:     session.Mark{Project: "an earlier lineage", Address: "session.a", ID: "id-0", Run: "run-0"},
			Location: session.Location{Runtime: "tmux", Socket: "/run/t", Name: "shop-a"},
			Ours:     true, Foreign: true, PlaceUp: true, Liveness: session.Unknown, Dir: "/ws/before",
		}
		for _, c := range change {
			c(&l)
		}
		return l
	}
	stray := session.Stray{Run: "run-0", Process: session.Process{PID: 7}, Address: "session.a", Ours: true, Dir: "/ws/before"}
	with := func(s *stage, lives []session.Live, strays ...session.Stray) *stage {
		s.in.World.Lives, s.in.World.Strays = append(s.in.World.Lives, lives...), strays
		return s
	}
	gone := func() *stage { return newStage().want(spec("a")).record(spec("a")) }
	const (
		own    = "  a agent_runs\n! a its agent still runs, and its state is lost\n"
		theirs = "  a agent_runs\n! a another agent works in its workspace\n"
		starts = "+ a not_recorded\n"
	)
	for name, c := range map[string]struct {
		stage        *stage
		want, detail string
	}{
		"in tmux": {with(newStage().want(spec("a")), []session.Live{lost()}), own,
			"it runs in tmux session shop-a on /run/t, and is not in the state|rebuild_or_end|tmux -S /run/t kill-session -t '=shop-a'"},
		"where others are on record": {with(newStage().all(spec("b")).want(spec("a")), []session.Live{lost()}), "  a agent_runs\n  b in_sync\n! a its agent still runs, and its state is lost\n", "|end_agent|"},
		"without its tmux session":   {with(newStage().want(spec("a")), nil, stray), own, "it runs as process 7, and is not in the state|end_agent|kill 7"},
		"on a restart":               {with(gone(), nil, stray), own, "|end_agent|kill 7"},
		"another session's, in the workspace": {with(newStage().want(spec("a")), []session.Live{lost(func(l *session.Live) {
			l.Mark.Address, l.Dir = "session.b", "/ws/a"
		})}), theirs, "an agent of session.b, which is not in the state, runs in tmux session"},
		"another project's, in the workspace": {with(newStage().want(spec("a")), nil,
			session.Stray{Run: "run-0", Address: "session.x", Dir: "/ws/a"}), theirs, "|end_agent|"},
		"another project's, which is known": {with(newStage().want(spec("a")), nil,
			session.Stray{Run: "run-0", Process: session.Process{PID: 7}, Address: "session.x", Project: "/theirs", Dir: "/ws/a"}), theirs,
			"as process 7 of the project /theirs in /ws/a|stop_other|kill 7"},
		"another project's of the same address": {with(newStage().want(spec("a")), nil,
			session.Stray{Run: "run-0", Address: "session.a", Dir: "/else"}), starts, ""},
		"another project's tmux session": {with(newStage().want(spec("a")), []session.Live{lost(func(l *session.Live) { l.Ours = false })}), starts, ""},
		"it has exited":                  {with(newStage().want(spec("a")), []session.Live{lost(func(l *session.Live) { l.Liveness = session.Dead })}), starts, ""},
		"its container is not running":   {with(newStage().want(spec("a")), []session.Live{lost(func(l *session.Live) { l.PlaceUp = false })}), starts, ""},
		"nothing is to start":            {with(newStage().all(spec("a")), []session.Live{lost()}, stray), "  a in_sync\n", ""},
		"declared stopped":               {with(newStage().want(spec("a", func(s *session.Spec) { s.Desired = session.Stopped })), nil, stray), "  a desired_stopped\n", ""},
		"a path somewhere else": {with(newStage().want(spec("a", func(s *session.Spec) {
			s.Runtime, s.Workspace.Mode = session.RuntimeSpec{Kind: "kubernetes", Kubernetes: &session.KubernetesConfig{}}, session.Clone
		})), nil, session.Stray{Run: "run-0", Address: "session.x", Dir: "/ws/a"}), starts, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, w := range c.stage.in.Wanted {
				c.stage.in.World.Runtimes[w.Runtime.Engine()] = nil
			}
			p := Compute(c.stage.in)
			var got strings.Builder
			for line := range strings.Lines(story(p)) {
				if line[0] != '?' {
					got.WriteString(line)
				}
			}
			if d := cmp.Diff(c.want, got.String()); d != "" {
				t.Errorf("plan (-want +got):\n%s", d)
			}
			for _, d := range p.Problems {
				text := d.Detail + "|" + string(d.Remedy.Code) + "|" + d.Remedy.End
				if !strings.Contains(text, c.detail) {
					t.Errorf("%s, want %s", text, c.detail)
				}
			}
		})
	}
}

// The agent that is adopted, or on record, is no other one.
func TestOwnAgentIsNoOther(t *testing.T) {
	s := newStage().all(spec("a"))
	s.in.Options.Restart = []session.Address{"session.a"}
	s.in.World.Strays = []session.Stray{{Run: s.in.World.Lives[0].Mark.Run, Address: "session.a", Ours: true, Dir: "/ws/a"}}
	if got := story(Compute(s.in)); got != "↻ a requested\n" {
		t.Errorf("plan:\n%s", got)
	}
}
