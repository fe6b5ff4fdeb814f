package plan

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

func TestAddresses(t *testing.T) {
	move := func(s *stage, from, to string) *stage {
		s.in.Moves = append(s.in.Moves, Move{session.Address(from), session.Address(to)})
		return s
	}
	keyed := func(block, key string) session.Spec {
		return spec(block, func(s *session.Spec) { s.Address = session.Keyed(block, key) })
	}
	imported := func(found session.Found) *stage {
		s := newStage().want(spec("a")).checkout("/ws/a", "agents/a")
		s.in.Imports = []Import{{"session.a", "tmux:work/api"}}
		s.in.World.Found = map[string]session.Found{"tmux:work/api": found}
		return s
	}
	byHand := func(change ...func(*session.Live)) session.Found {
		l := session.Live{Foreign: true, PlaceUp: true, Liveness: session.Alive, Dir: "/ws/a", Location: session.Location{Runtime: "tmux", Name: "api"}}
		for _, c := range change {
			c(&l)
		}
		return session.Found{Live: &l}
	}
	old := func() *stage { return newStage().record(spec("old")).live("old") }
	same := func(name string) session.Spec {
		s := spec("old")
		s.Address = session.Single(name)
		return s
	}

	tests := []struct {
		name  string
		stage *stage
		want  string
	}{
		{"moved", move(old().want(same("new")), "session.old", "session.new"), "~ new moved\n"},
		{"moved twice", move(move(old().want(same("c")), "session.old", "session.b"), "session.b", "session.c"), "~ c moved\n"},
		{"moved into a for_each", move(old().want(func() session.Spec {
			s := spec("old")
			s.Address = session.Keyed("w", "x")
			return s
		}()), "session.old", `session.w["x"]`), "~ w[\"x\"] moved\n"},
		{"into its own block, long ago", move(newStage().record(keyed("w", "x")).want(keyed("w", "x")), "session.w", `session.w["x"]`),
			story(Compute(newStage().record(keyed("w", "x")).want(keyed("w", "x")).in))},
		{"a whole block", move(newStage().record(keyed("old", "x")).want(keyed("new", "x")), "session.old", "session.new"),
			"± new[\"x\"] branch_changed prompt branch workspace.path\n? new[\"x\"] missing\n"},
		{"moved and changed", move(old().want(func() session.Spec { s := same("new"); s.Priority = 3; return s }()), "session.old", "session.new"),
			"~ new spec_changed priority\n"},
		{"moved, with a workspace named after the address", move(old().want(func() session.Spec {
			s := same("new")
			s.Workspace.Path = "/ws/new"
			return s
		}()), "session.old", "session.new"), "~ new moved\n"},
		{"moved before, and made anew: its branch is held by its own workspace", newStage().record(same("new")).live("new").want(func() session.Spec {
			s := same("new")
			s.Workspace.Path = "/ws/new"
			return s
		}()).options(Options{Replace: []session.Address{session.Single("new")}}),
			"± new requested\n"},
		{"moved, done before", move(newStage().all(spec("new")), "session.old", "session.new"), "  new in_sync\n"},
		{"moved onto an occupied address", move(old().all(spec("new")), "session.old", "session.new"),
			"  new in_sync\n- old not_in_manifest\n! new address is occupied\n"},
		{"removed and left alive", func() *stage {
			s := old()
			s.in.Removed = []Removal{{From: "session.old"}}
			return s
		}(), ". old removed\n"},
		{"removed and destroyed", func() *stage {
			s := old()
			s.in.Removed = []Removal{{From: "session.old", Destroy: true}}
			return s
		}(), "- old not_in_manifest\n"},

		{"import", imported(byHand()), "> a import\n"},
		{"import in a folder below", imported(byHand(func(l *session.Live) { l.Dir = "/ws/a/src" })), "> a import\n"},
		{"import of what works elsewhere", imported(byHand(func(l *session.Live) { l.Dir = "/ws/ab" })),
			"  a error\n! a session works in another directory\n"},
		{"import of the dead", imported(byHand(func(l *session.Live) { l.Liveness = session.Dead })), "  a error\n! a nothing to import\n"},
		{"import of nothing", imported(session.Found{}), "  a error\n! a nothing to import\n"},
		{"import that cannot look", imported(session.Found{Err: errors.New("no server")}), "  a error\n! a nothing to import\n"},
		{"import of ours", imported(byHand(func(l *session.Live) {
			l.Foreign = false
			l.Mark = session.Mark{Project: lineage, Address: "session.b"}
		})), "  a error\n! a session is already managed\n"},
		{"import of what is adopted anyway", func() *stage {
			s := imported(byHand(func(l *session.Live) { l.Foreign, l.Mark.Run = false, "run-1" }))
			return s.live("a", func(l *session.Live) { l.Mark.Run = "run-1" })
		}(), "> a ours_unrecorded\n"},
		{"import next to what would be adopted", func() *stage {
			return imported(byHand()).live("a", func(l *session.Live) { l.Mark.Run = "run-1" })
		}(), "  a error\n! a another session has this address\n"},
		{"import of nothing next to what would be adopted", func() *stage {
			return imported(session.Found{}).live("a", func(l *session.Live) { l.Mark.Run = "run-1" })
		}(), "  a error\n! a nothing to import\n"},
		{"import onto another branch", func() *stage {
			s := imported(byHand())
			s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a", Exists: true, Git: true, Branch: "main"}
			return s
		}(), "  a branch_mismatch\n! a branch mismatch\n"},
		{"import that was done", func() *stage {
			s := newStage().all(spec("a"))
			s.in.Imports = []Import{{"session.a", "tmux:work/api"}}
			return s
		}(), "  a in_sync\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, story(Compute(tt.stage.in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMovedNamesWhereItWas(t *testing.T) {
	s := newStage().record(spec("old")).live("old")
	w := spec("old")
	w.Address = "session.new"
	s.want(w)
	s.in.Moves = []Move{{"session.old", "session.new"}}
	c := Compute(s.in).Changes[0]
	if c.Moved != "session.old" || c.Before == nil || c.Before.ID != "id-old" || c.Live == nil {
		t.Errorf("moved from %q, record %v, live %v", c.Moved, c.Before, c.Live)
	}
}

func TestWorkspacePaths(t *testing.T) {
	recorded := func(name string, change ...func(*session.Record)) session.Record {
		w := spec(name)
		r := session.Record{Address: w.Address, Spec: w, Tree: session.WorkspaceState{Path: "/ws/" + name, Mode: w.Workspace.Mode, Repo: w.Workspace.Repo, Branch: w.Branch}}
		r.Spec.Workspace.Explicit = false
		for _, c := range change {
			c(&r)
		}
		return r
	}
	wanted := func(name, branch string, explicit bool) session.Spec {
		return spec(name, func(s *session.Spec) {
			s.Branch, s.Workspace.Path, s.Workspace.Explicit = branch, "/declared", explicit
		})
	}
	records := []session.Record{recorded("old"), recorded("kept")}
	paths := WorkspacePaths(records, []Move{{"session.old", "session.new"}})
	for _, c := range []struct {
		what string
		of   session.Spec
		want string
	}{
		{"on record", wanted("kept", records[1].Spec.Branch, false), "/ws/kept"},
		{"on record under the address that it moves from", wanted("new", records[0].Spec.Branch, false), "/ws/old"},
		{"declared", wanted("kept", records[1].Spec.Branch, true), "/declared"},
		{"another branch has another folder", wanted("kept", "other", false), "/declared"},
		{"not on record", wanted("fresh", "fresh", false), "/declared"},
	} {
		if got := paths(c.of); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	if records[0].Address != "session.old" {
		t.Error("a record was changed")
	}
}
