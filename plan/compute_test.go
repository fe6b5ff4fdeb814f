package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

const (
	lineage = "lineage-1"
	boot    = "boot-1"
	repo    = "/src/shop"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// stage is a world that a test sets up: by default everything in it is in sync.
type stage struct {
	in Input
}

func newStage() *stage {
	return &stage{in: Input{
		Now: now, Project: "shop", Lineage: lineage, Serial: 7,
		World: session.World{
			At: now, BootID: boot,
			Runtimes:  map[string]error{"tmux": nil},
			Checkouts: map[string]session.Checkout{},
			Worktrees: map[string][]session.Held{},
			Runs:      map[string]session.RunFacts{},
		},
	}}
}

// renamed is a session on the branch of another one.
func renamed(name, was string) session.Spec {
	return spec(name, func(s *session.Spec) { s.Branch, s.Workspace.Path = "agents/"+was, "/ws/"+name+"-"+was })
}

func spec(name string, change ...func(*session.Spec)) session.Spec {
	s := session.Spec{
		Address: session.Single(name), Role: "default", Desired: session.Running,
		Agent:  session.AgentSpec{Name: "bot", Command: []string{"bot"}, PromptVia: "argument"},
		Branch: "agents/" + name, Runtime: session.RuntimeSpec{Kind: "tmux"},
		Prompt:    session.PromptOf("do " + name),
		Workspace: session.Workspace{Mode: session.Worktree, Repo: repo, Path: "/ws/" + name, OnDestroy: session.Keep},
		Pause:     session.Pause{Mode: session.Detach},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func (s *stage) want(specs ...session.Spec) *stage {
	s.in.Wanted = append(s.in.Wanted, specs...)
	return s
}

// record puts a spec on record as a person's apply would have left it, with its
// workspace in place.
func (s *stage) record(sp session.Spec, change ...func(*session.Record)) *stage {
	sp.Prompt.Text = ""
	r := session.Record{
		ID: "id-" + sp.Address.Block(), Address: sp.Address, Origin: session.FromManifest, Spec: sp,
		Location: session.Location{Runtime: "tmux", Name: sp.Address.OutsideName("shop")},
		Run:      session.Run{ID: "run-" + sp.Address.Block(), Number: 1, BootID: boot},
		Tree: session.WorkspaceState{Path: sp.Workspace.Path, Mode: sp.Workspace.Mode, Repo: sp.Workspace.Repo,
			Branch: sp.Branch, Created: true, Ready: true},
	}
	for _, c := range change {
		c(&r)
	}
	s.in.Records = append(s.in.Records, r)
	if _, set := s.in.World.Checkouts[r.Tree.Path]; !set {
		s.checkout(r.Tree.Path, r.Tree.Branch)
	}
	return s
}

func (s *stage) checkout(path, branch string) *stage {
	s.in.World.Checkouts[path] = session.Checkout{Path: path, Exists: true, Git: true, Repo: repo + "/.git", Branch: branch}
	s.in.World.Worktrees[repo] = append(s.in.World.Worktrees[repo], session.Held{Path: path, Branch: branch})
	return s
}

func (s *stage) live(name string, change ...func(*session.Live)) *stage {
	a := session.Single(name)
	l := session.Live{
		Mark:     session.Mark{Project: lineage, Address: a, ID: "id-" + name, Run: "run-" + name, Hash: "1:x"},
		Location: session.Location{Runtime: "tmux", Name: a.OutsideName("shop"), Socket: "/run/tmux-0"},
		PlaceUp:  true, Liveness: session.Alive,
	}
	for _, c := range change {
		c(&l)
	}
	s.in.World.Lives = append(s.in.World.Lives, l)
	return s
}

// all is a session that is wanted, on record and live.
func (s *stage) all(sp session.Spec) *stage {
	return s.want(sp).record(sp).live(sp.Address.Block())
}

func exitedWith(cause session.Cause, code int, signal string) func(*session.Live) {
	return func(l *session.Live) {
		l.Liveness = session.Dead
		l.Exit = &session.Exit{Cause: cause, Code: code, Signal: signal}
	}
}

// story is a plan as lines: symbol, name, reason, then the changed fields, and
// the problems.
func story(p Plan) string {
	var b strings.Builder
	for _, c := range p.Changes {
		fmt.Fprintf(&b, "%s %s %s", c.Action.Symbol(), strings.TrimPrefix(string(c.Address), "session."), c.Reason)
		if c.Then != "" {
			fmt.Fprintf(&b, " then %s", c.Then)
		}
		for _, f := range c.Fields {
			if c.Before != nil && c.Action != Create || c.Action == Adopt { // else they are all that is declared
				fmt.Fprintf(&b, " %s", f.Path)
			}
		}
		b.WriteString("\n")
	}
	for _, d := range p.Problems {
		fmt.Fprintf(&b, "! %s %s\n", strings.TrimPrefix(string(d.Address), "session."), d.Summary)
	}
	for _, d := range p.Drift {
		fmt.Fprintf(&b, "? %s %s\n", strings.TrimPrefix(string(d.Address), "session."), d.Kind)
	}
	return b.String()
}

func TestDecisionTable(t *testing.T) {
	oneShot := func(s *session.Spec) { s.Agent.OneShot = true }
	desired := func(d session.Desired) func(*session.Spec) { return func(s *session.Spec) { s.Desired = d } }
	stoppedByHand := func(r *session.Record) {
		r.Override = &session.Override{Desired: session.Stopped, By: "ada", At: now}
	}
	intent := func(i session.Intent) func(*session.Record) { return func(r *session.Record) { r.Intent = i } }
	env := func(s *session.Spec) { s.Env = map[string]string{"LOG": "debug"} }

	tests := []struct {
		name  string
		stage func() *stage
		want  string
	}{
		{"nothing at all", newStage, ""},
		{"new", func() *stage { return newStage().want(spec("a")) }, "+ a not_recorded\n"},
		{"new and wanted paused", func() *stage { return newStage().want(spec("a", desired(session.Paused))) },
			"+ a not_recorded then pause\n"},
		{"new and wanted stopped", func() *stage { return newStage().want(spec("a", desired(session.Stopped))) },
			"  a desired_stopped\n"},
		{"in sync", func() *stage { return newStage().all(spec("a")) }, "  a in_sync\n"},
		{"ours, unrecorded, spec unknown", func() *stage { return newStage().want(spec("a")).live("a").checkout("/ws/a", "agents/a") },
			"> a ours_unrecorded\n"},
		{"ours, unrecorded, other spec", func() *stage {
			old := spec("a", env)
			return newStage().want(spec("a")).checkout("/ws/a", "agents/a").live("a", func(l *session.Live) { l.Spec = &old })
		}, "> a ours_unrecorded then restart env\n"},
		{"ours, unrecorded, dead", func() *stage {
			return newStage().want(spec("a")).checkout("/ws/a", "agents/a").live("a", exitedWith("self", 1, ""))
		}, "> a ours_unrecorded then restart\n"},
		{"ours, unrecorded, not wanted", func() *stage { return newStage().live("a") }, "? a orphaned\n"},
		{"same name, not ours", func() *stage {
			return newStage().want(spec("a")).live("a", func(l *session.Live) { l.Foreign, l.Mark = true, session.Mark{} })
		}, "  a name_taken\n! a name is taken\n"},
		{"same name, another project's", func() *stage {
			return newStage().want(spec("a")).live("a", func(l *session.Live) { l.Mark.Project = "other" })
		}, "+ a not_recorded\n"},
		{"same name, of this directory and another state", func() *stage {
			old := spec("a")
			return newStage().want(spec("a")).live("a", func(l *session.Live) { l.Mark.Project, l.Spec = "lost", &old })
		}, "  a agent_runs\n! a its agent still runs, and its state is lost\n"},
		{"the same, and its agent has exited", func() *stage {
			old := spec("a")
			return newStage().want(spec("a")).live("a", func(l *session.Live) {
				l.Mark.Project, l.Spec, l.Liveness = "lost", &old, session.Dead
			})
		}, "  a name_taken\n! a session belongs to a lost state\n"},
		{"gone, and its name taken by another", func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", func(l *session.Live) { l.Foreign, l.Mark = true, session.Mark{} })
		}, "  a name_taken\n! a name is taken\n? a missing\n"},
		{"two of ours, one on record", func() *stage {
			return newStage().all(spec("a")).live("a", func(l *session.Live) { l.Mark.Run = "run-other" })
		}, "  a in_sync\n? a orphaned\n"},
		{"two of ours, none on record", func() *stage {
			return newStage().want(spec("a")).live("a").live("a", func(l *session.Live) { l.Mark.Run = "run-other" })
		}, "  a two_live_objects\n! a two running sessions have this address\n"},

		{"finished", func() *stage {
			return newStage().want(spec("a", oneShot)).record(spec("a", oneShot)).live("a", exitedWith("self", 0, ""))
		}, "  a finished\n"},
		{"finished, and its place is gone", func() *stage {
			s := newStage().want(spec("a", oneShot)).record(spec("a", oneShot))
			s.in.World.Runs["run-a"] = session.RunFacts{Claimed: true, Exit: &session.Exit{Cause: "self"}}
			return s
		}, "  a finished\n"},
		{"finished, another setting changed", func() *stage {
			return newStage().want(spec("a", oneShot, env)).record(spec("a", oneShot)).live("a", exitedWith("self", 0, ""))
		}, "~ a spec_changed env\n"},
		{"finished, prompt changed", func() *stage {
			return newStage().want(spec("a", oneShot, func(s *session.Spec) { s.Prompt = session.PromptOf("other") })).
				record(spec("a", oneShot)).live("a", exitedWith("self", 0, ""))
		}, "↻ a prompt_changed prompt\n"},
		{"one shot that failed", func() *stage {
			return newStage().want(spec("a", oneShot)).record(spec("a", oneShot)).live("a", exitedWith("self", 3, ""))
		}, "↻ a failed\n? a failed\n"},
		{"one shot that was asked to leave", func() *stage {
			return newStage().want(spec("a", oneShot)).record(spec("a", oneShot)).live("a", exitedWith("requested", 0, ""))
		}, "↻ a exited\n? a exited\n"},
		{"interactive agent was left with 0", func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", exitedWith("self", 0, ""))
		}, "↻ a exited\n? a exited\n"},
		{"killed", func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", exitedWith("self", 137, "SIGKILL"))
		}, "↻ a failed\n? a stale\n"},
		{"timed out", func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", exitedWith("timeout", 143, "SIGTERM"))
		}, "  a timeout\n"},
		{"timed out, and its place is gone", func() *stage {
			s := newStage().want(spec("a")).record(spec("a"))
			s.in.World.Runs["run-a"] = session.RunFacts{Claimed: true, Exit: &session.Exit{Cause: "timeout", Code: 143}}
			return s
		}, "  a timeout\n"},
		{"timed out, prompt changed", func() *stage {
			return newStage().want(spec("a", func(s *session.Spec) { s.Prompt = session.PromptOf("other") })).
				record(spec("a")).live("a", exitedWith("timeout", 143, ""))
		}, "↻ a prompt_changed prompt\n"},
		{"dead, nobody knows how", func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", func(l *session.Live) { l.Liveness = session.Dead })
		}, "↻ a stale\n? a stale\n"},
		{"place gone", func() *stage { return newStage().want(spec("a")).record(spec("a")) }, "↻ a gone\n? a missing\n"},
		{"host rebooted", func() *stage {
			return newStage().want(spec("a")).record(spec("a", func(s *session.Spec) {}), func(r *session.Record) { r.Run.BootID = "boot-0" })
		}, "↻ a host_rebooted\n? a missing\n"},
		{"signals contradict", func() *stage {
			return newStage().want(spec("a")).record(spec("a")).live("a", func(l *session.Live) { l.Liveness = session.Unknown })
		}, "  a runtime_unreachable\n? a unreachable\n"},
		{"runtime unreachable", func() *stage {
			s := newStage().all(spec("a")).want(spec("b"))
			s.in.World.Runtimes["tmux"] = errors.New("tmux: protocol version mismatch")
			return s
		}, "  a runtime_unreachable\n  b runtime_unreachable\n!  cannot reach tmux\n? a unreachable\n"},

		{"create interrupted before anything", func() *stage {
			return newStage().want(spec("a")).record(spec("a"), intent(session.Creating))
		}, "+ a interrupted\n"},
		{"its last action failed, and it runs", func() *stage {
			return newStage().want(spec("a")).live("a").record(spec("a"), func(r *session.Record) { r.LastError = "not ready after 30s" })
		}, "~ a last_action_failed\n"},
		{"its last action failed, and it is stopped", func() *stage {
			return newStage().want(spec("a", desired(session.Stopped))).record(spec("a", desired(session.Stopped)), func(r *session.Record) { r.LastError = "no space left on device" })
		}, "~ a last_action_failed\n"},
		{"removal interrupted after its workspace went", func() *stage {
			s := newStage().want(spec("a")).record(spec("a"), intent(session.Removing))
			s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a"}
			return s
		}, "+ a interrupted\n? a missing\n? a branch_mismatch\n"},
		{"removal interrupted, and wanted stopped", func() *stage {
			return newStage().want(spec("a", desired(session.Stopped))).record(spec("a"), intent(session.Removing))
		}, ". a interrupted desired\n? a missing\n"},
		{"removal interrupted before its workspace went, and wanted stopped", func() *stage {
			clean := func(r *session.Record) { r.Tree.Created, r.Spec.Workspace.OnDestroy = true, session.RemoveClean }
			return newStage().want(spec("a", desired(session.Stopped))).record(spec("a"), intent(session.Removing), clean)
		}, "- a interrupted desired workspace.on_destroy\n? a missing\n"},
		{"place gone, and its agent lives", func() *stage {
			s := newStage().want(spec("a")).record(spec("a"))
			s.in.World.Runs["run-a"] = session.RunFacts{Claimed: true, Alive: true}
			return s
		}, "… a runtime_unreachable\n? a unreachable\n"},
		{"place gone, and its agent lives, its start interrupted", func() *stage {
			s := newStage().want(spec("a")).record(spec("a"), intent(session.Creating))
			s.in.World.Runs["run-a"] = session.RunFacts{Claimed: true, Alive: true}
			return s
		}, "… a runtime_unreachable\n? a unreachable\n"},
		{"place gone, and its agent lives, its prompt changed", func() *stage {
			s := newStage().want(spec("a", func(s *session.Spec) { s.Prompt = session.Prompt{Text: "another", Digest: "d2"} })).record(spec("a"))
			s.in.World.Runs["run-a"] = session.RunFacts{Claimed: true, Alive: true}
			return s
		}, "… a runtime_unreachable prompt\n? a unreachable\n"},
		{"place gone, and its agent lives, wanted stopped", func() *stage {
			s := newStage().want(spec("a", desired(session.Stopped))).record(spec("a"))
			s.in.World.Runs["run-a"] = session.RunFacts{Claimed: true, Alive: true}
			return s
		}, "‖ a desired_stopped desired\n? a unreachable\n"},
		{"create failed", func() *stage {
			return newStage().want(spec("a")).record(spec("a"), intent(session.Creating), func(r *session.Record) { r.LastError = "setup: exit status 2" })
		}, "+ a interrupted\n"},
		{"create interrupted after the launch", func() *stage {
			return newStage().want(spec("a")).record(spec("a"), intent(session.Creating)).live("a")
		}, "~ a interrupted\n"},
		{"restart interrupted before the launch", func() *stage {
			return newStage().want(spec("a")).record(spec("a"), intent(session.Restarting), func(r *session.Record) { r.Run.ID = "run-new" }).
				live("a", exitedWith("requested", 0, ""))
		}, "↻ a exited\n? a exited\n"},
		{"an older state was restored", func() *stage {
			return newStage().want(spec("a")).record(spec("a"), func(r *session.Record) { r.Run.ID = "run-old" }).live("a")
		}, "~ a interrupted\n? a changed\n"},

		{"declared paused", func() *stage {
			return newStage().want(spec("a", desired(session.Paused))).record(spec("a")).live("a")
		}, "‖ a desired_paused desired\n"},
		{"paused as wanted", func() *stage {
			return newStage().want(spec("a", desired(session.Paused))).record(spec("a", desired(session.Paused))).
				live("a", func(l *session.Live) { l.InputOff = true })
		}, "  a in_sync\n"},
		{"paused and wanted running", func() *stage {
			return newStage().want(spec("a")).record(spec("a", desired(session.Paused))).live("a", func(l *session.Live) { l.Frozen = true })
		}, "‖ a desired_running desired\n"},
		{"declared stopped", func() *stage {
			return newStage().want(spec("a", desired(session.Stopped))).record(spec("a")).live("a")
		}, "‖ a desired_stopped desired\n"},
		{"stopped as wanted", func() *stage {
			return newStage().want(spec("a", desired(session.Stopped))).record(spec("a", desired(session.Stopped)))
		}, "  a desired_stopped\n"},
		{"stopped and wanted running", func() *stage {
			return newStage().want(spec("a")).record(spec("a", desired(session.Stopped)))
		}, "↻ a desired_running desired\n"},
		{"stopped by hand", func() *stage {
			return newStage().want(spec("a")).record(spec("a"), stoppedByHand)
		}, "↻ a override_lifted\n"},
		{"stopped, another setting changed", func() *stage {
			return newStage().want(spec("a", desired(session.Stopped), env)).record(spec("a", desired(session.Stopped)))
		}, "~ a spec_changed env\n"},

		{"in place", func() *stage {
			return newStage().want(spec("a", func(s *session.Spec) { s.Priority = 5 })).record(spec("a")).live("a")
		}, "~ a spec_changed priority\n"},
		{"forces a restart", func() *stage { return newStage().want(spec("a", env)).record(spec("a")).live("a") },
			"↻ a spec_changed env\n"},
		{"prompt changed", func() *stage {
			return newStage().want(spec("a", func(s *session.Spec) { s.Prompt = session.PromptOf("other") })).record(spec("a")).live("a")
		}, "↻ a prompt_changed prompt\n"},
		{"prompt changed but ignored", func() *stage {
			return newStage().want(spec("a", func(s *session.Spec) {
				s.Prompt = session.PromptOf("other")
				s.Lifecycle.IgnoreChanges = []string{"prompt"}
			})).record(spec("a")).live("a")
		}, "~ a spec_changed lifecycle.ignore_changes\n"},
		{"branch changed", func() *stage {
			return newStage().want(spec("a", func(s *session.Spec) { s.Branch, s.Workspace.Path = "other", "/ws/a-other" })).record(spec("a")).live("a")
		}, "± a branch_changed branch workspace.path\n"},
		{"branch changed, and the workspace is there already", func() *stage {
			return newStage().checkout("/ws/a", "other").
				want(spec("a", func(s *session.Spec) { s.Branch, s.Workspace.Path = "other", "/ws/a-other" })).record(spec("a")).live("a")
		}, "~ a spec_changed branch\n? a branch_mismatch\n"},
		{"branch changed under a fixed path", func() *stage {
			return newStage().want(spec("a", func(s *session.Spec) { s.Branch = "other" })).record(spec("a")).live("a")
		}, "  a branch_mismatch\n! a branch mismatch\n"},
		{"triggered", func() *stage {
			return newStage().want(spec("a", func(s *session.Spec) { s.Lifecycle.ReplaceTrigger = "2" })).
				record(spec("a", func(s *session.Spec) { s.Lifecycle.ReplaceTrigger = "1" })).live("a")
		}, "± a replace_triggered lifecycle.replace_triggered_by\n"},
		{"replace prevented", func() *stage {
			return newStage().want(spec("a", func(s *session.Spec) {
				s.Workspace.Path, s.Branch = "/ws/b", "b"
				s.Lifecycle.PreventDestroy = true
			})).record(spec("a")).live("a")
		}, "  a prevent_destroy\n! a session cannot be replaced\n"},

		{"on another branch; the other converges", func() *stage {
			return newStage().checkout("/ws/a", "main").all(spec("a")).want(spec("b"))
		}, "  a branch_mismatch\n+ b not_recorded\n! a branch mismatch\n? a branch_mismatch\n"},
		{"dead on another branch", func() *stage {
			return newStage().checkout("/ws/a", "main").want(spec("a")).record(spec("a"))
		}, "  a branch_mismatch\n! a branch mismatch\n? a missing\n? a branch_mismatch\n"},
		{"detached", func() *stage {
			s := newStage().all(spec("a"))
			s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a", Exists: true, Git: true, Head: "0123456789abcdef"}
			return s
		}, "  a branch_mismatch\n! a branch mismatch\n? a branch_mismatch\n"},
		{"rebasing its own branch", func() *stage {
			s := newStage().all(spec("a"))
			s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a", Exists: true, Git: true, Branch: "agents/a", Busy: "rebase"}
			return s
		}, "  a in_sync\n"},
		{"workspace gone", func() *stage {
			s := newStage().all(spec("a"))
			s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a"}
			return s
		}, "  a workspace_gone\n! a workspace is gone\n? a branch_mismatch\n"},
		{"branch held elsewhere", func() *stage { return newStage().checkout("/elsewhere", "agents/a").want(spec("a")) },
			"  a branch_held\n! a branch is checked out elsewhere\n"},
		{"renamed: what runs is not ended for it", func() *stage {
			return newStage().record(spec("a")).live("a").want(renamed("b", "a"))
		}, "  a branch_held\n  b branch_held\n! b branch is checked out elsewhere\n"},
		{"a chain of renamed ones", func() *stage {
			return newStage().record(spec("a")).live("a").record(spec("b")).live("b").want(renamed("b", "a"), renamed("c", "b"))
		}, "  a branch_held\n  b branch_held\n  c branch_held\n! b branch is checked out elsewhere\n! c branch is checked out elsewhere\n"},
		{"renamed, and of its clone elsewhere", func() *stage {
			clone := func(s *session.Spec) {
				s.Branch, s.Workspace = "agents/a", session.Workspace{Mode: session.Clone, Repo: repo, Path: "/clone", Explicit: true}
			}
			return newStage().record(spec("a", clone)).live("a").want(spec("b", clone))
		}, "  a branch_held\n  b path_occupied\n! b workspace path is occupied\n"},
		{"renamed in place, and with its branch", func() *stage {
			in := func(branch string) func(s *session.Spec) {
				return func(s *session.Spec) {
					s.Branch, s.Workspace = branch, session.Workspace{Mode: session.InPlace, Repo: repo, Path: repo}
				}
			}
			return newStage().record(spec("a", in("main"))).live("a").want(spec("b", in("dev")))
		}, "  a branch_held\n  b branch_mismatch\n! b branch mismatch\n"},
		{"path occupied", func() *stage {
			s := newStage().want(spec("a"))
			s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a", Exists: true}
			return s
		}, "  a path_occupied\n! a workspace path is occupied\n"},
		{"a kept workspace is taken up again", func() *stage { return newStage().checkout("/ws/a", "agents/a").want(spec("a")) },
			"+ a not_recorded\n"},
		{"a kept workspace on another branch", func() *stage { return newStage().checkout("/ws/a", "main").want(spec("a")) },
			"  a branch_mismatch\n! a branch mismatch\n"},
		{"in place on another branch", func() *stage {
			return newStage().checkout(repo, "main").want(spec("a", func(s *session.Spec) {
				s.Workspace = session.Workspace{Mode: session.InPlace, Repo: repo, Path: repo}
			}))
		}, "  a branch_mismatch\n! a branch mismatch\n"},

		{"no longer wanted", func() *stage { return newStage().record(spec("a")).live("a") }, "- a not_in_manifest\n"},
		{"no longer wanted, and gone", func() *stage { return newStage().record(spec("a")) }, ". a nothing_left\n? a missing\n"},
		{"no longer wanted, gone, its workspace to be removed", func() *stage {
			return newStage().record(spec("a", func(s *session.Spec) { s.Workspace.OnDestroy = session.RemoveClean }))
		}, "- a not_in_manifest\n? a missing\n"},
		{"no longer wanted, gone, but its agent lives", func() *stage {
			s := newStage().record(spec("a"))
			s.in.World.Runs["run-a"] = session.RunFacts{Alive: true}
			return s
		}, "- a not_in_manifest\n? a unreachable\n"},
		{"made by run, not in the manifest", func() *stage {
			return newStage().record(spec("a"), func(r *session.Record) { r.Origin = session.FromRun })
		}, "  a in_sync\n? a missing\n"},
		{"no longer wanted, destroy prevented", func() *stage {
			return newStage().record(spec("a", func(s *session.Spec) { s.Lifecycle.PreventDestroy = true })).live("a")
		}, "  a prevent_destroy\n! a session cannot be destroyed\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, story(Compute(tt.stage().in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	three := func() *stage {
		return newStage().want(spec("a"), spec("b", func(s *session.Spec) { s.DependsOn = []session.Address{"session.a"} }), spec("c"))
	}
	tests := []struct {
		name  string
		stage func() *stage
		want  string
	}{
		{"target brings its dependency", func() *stage {
			s := three()
			s.in.Options.Targets = []session.Address{"session.b"}
			return s
		}, "+ a not_recorded\n+ b not_recorded\n  c not_targeted\n"},
		{"exclude takes its dependents along", func() *stage {
			s := three()
			s.in.Options.Exclude = []session.Address{"session.a"}
			return s
		}, "  a not_targeted\n  b not_targeted\n+ c not_recorded\n"},
		{"unknown target", func() *stage {
			s := three()
			s.in.Options.Targets = []session.Address{"session.z"}
			return s
		}, "  a not_targeted\n  b not_targeted\n  c not_targeted\n! z no such session\n"},
		{"replace", func() *stage {
			s := newStage().all(spec("a"))
			s.in.Options.Replace = []session.Address{"session.a"}
			return s
		}, "± a requested\n"},
		{"replace what depends on the excluded", func() *stage {
			b := spec("b", func(s *session.Spec) { s.DependsOn = []session.Address{"session.a"} })
			s := newStage().all(spec("a")).all(b)
			s.in.Options.Exclude, s.in.Options.Replace = []session.Address{"session.a"}, []session.Address{"session.b"}
			return s
		}, "  a not_targeted\n  b not_targeted\n! b not part of this plan\n"},
		{"replace what lost its workspace", func() *stage {
			s := newStage().want(spec("a")).record(spec("a"))
			s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a"}
			s.in.World.Worktrees[repo] = nil
			s.in.Options.Replace = []session.Address{"session.a"}
			return s
		}, "± a requested\n? a missing\n? a branch_mismatch\n"},
		{"restart", func() *stage {
			s := newStage().all(spec("a"))
			s.in.Options.Restart = []session.Address{"session.a"}
			return s
		}, "↻ a requested\n"},
		{"destroy", func() *stage {
			s := newStage().all(spec("a")).want(spec("b"))
			s.in.Options.Destroy = true
			return s
		}, "- a destroy\n"},
		{"refresh only", func() *stage {
			s := newStage().want(spec("a"), spec("b")).record(spec("a"))
			s.in.Options.RefreshOnly = true
			return s
		}, "  a refresh_only\n  b refresh_only\n? a missing\n"},
		{"queue by priority", func() *stage {
			s := newStage().all(spec("a")).want(spec("b"), spec("c", func(s *session.Spec) { s.Priority = 3 }))
			s.in.Options.MaxRunning = 2
			return s
		}, "  a in_sync\n… b queued\n+ c not_recorded\n!  1 session waits behind 2 that never end (max_running = 2)\n"},
		{"the place of a session that cannot be seen is not given away", func() *stage {
			s := newStage().record(spec("a")).live("a", func(l *session.Live) { l.Liveness, l.UnknownReason = session.Unknown, "made just now" }).want(spec("a"), spec("b"))
			s.in.Options.MaxRunning = 1
			return s
		}, "  a runtime_unreachable\n… b queued\n? a unreachable\n"},
		{"a dependency goes before the urgent session that needs it", func() *stage {
			s := three()
			s.in.Wanted[0].Finish, s.in.Wanted[1].Priority = session.FinishTurn, 9
			s.in.Options.MaxRunning = 1
			return s
		}, "+ a not_recorded\n… b queued\n… c queued\n!  1 session waits behind 1 that never ends (max_running = 1)\n"},
		{"what depends on the queued waits too", func() *stage {
			s := three()
			s.in.Wanted[0].Finish, s.in.Wanted[2].Priority = session.FinishTurn, 9
			s.in.Options.MaxRunning = 1
			return s
		}, "… a queued\n… b dependency_not_ready\n+ c not_recorded\n!  2 sessions wait behind 1 that never ends (max_running = 1)\n"},
		{"a dependency keeps the only place", func() *stage {
			s := newStage().want(spec("a"), spec("b", func(s *session.Spec) {
				s.DependsOn, s.Until = []session.Address{"session.a"}, map[session.Address]session.Await{"session.a": session.AwaitTurn}
			}))
			s.in.Options.MaxRunning = 1
			return s
		}, "+ a not_recorded\n  b dependency_not_ready\n! b it can never start\n"},
		{"those that keep all places need not be direct dependencies", func() *stage {
			on := func(a session.Address) func(*session.Spec) {
				return func(s *session.Spec) { s.DependsOn = []session.Address{a} }
			}
			s := newStage().all(spec("a")).want(spec("b", on("session.a"), func(s *session.Spec) { s.Finish = session.FinishTurn }), spec("c", on("session.b")), spec("d", on("session.c")))
			s.in.Options.MaxRunning = 2
			return s
		}, "  a in_sync\n+ b not_recorded\n… c queued\n  d dependency_not_ready\n! d it can never start\n"},
		{"those that end leave their places", func() *stage {
			ends := func(s *session.Spec) { s.Agent.OneShot = true }
			s := newStage().want(spec("a", ends), spec("b", ends), spec("c", func(s *session.Spec) { s.Timeout = 1 }), spec("d"))
			s.in.Options.MaxRunning = 1
			return s
		}, "+ a not_recorded\n… b queued\n… c queued\n… d queued\n"},
		{"who is to be landed keeps its place until then", func() *stage {
			s := newStage().all(spec("a", func(s *session.Spec) { s.Finish = session.FinishLanded })).want(spec("b"), spec("c"))
			s.in.Options.MaxRunning = 1
			return s
		}, "  a in_sync\n… b queued\n… c queued\n!  2 sessions wait behind 1 that ends only when landed (max_running = 1)\n"},
		{"who was given no turn never ends it", func() *stage {
			s := newStage().all(spec("a", func(s *session.Spec) { s.Finish, s.Prompt = session.FinishTurn, session.Prompt{} })).want(spec("b"))
			s.in.Options.MaxRunning = 1
			return s
		}, "  a in_sync\n… b queued\n!  1 session waits behind 1 that never ends (max_running = 1)\n"},
		{"each of a chain that can never start names the number for all", func() *stage {
			s := three()
			s.in.Wanted[1].Until = map[session.Address]session.Await{"session.a": session.AwaitTurn}
			s.in.Wanted[2].DependsOn, s.in.Wanted[2].Until = []session.Address{"session.b"}, map[session.Address]session.Await{"session.b": session.AwaitTurn}
			s.in.Options.MaxRunning = 1
			return s
		}, "+ a not_recorded\n  b dependency_not_ready\n  c dependency_not_ready\n! b it can never start\n! c it can never start\n"},
		{"what depends on an error waits", func() *stage {
			return three().checkout("/elsewhere", "agents/a")
		}, "  a branch_held\n… b dependency_not_ready\n+ c not_recorded\n! a branch is checked out elsewhere\n"},
		{"by hand nothing is created or deleted, overrides hold", func() *stage {
			s := newStage().all(spec("a")).record(spec("b"), func(r *session.Record) {
				r.Override = &session.Override{Desired: session.Stopped, By: "ada", At: now}
			}).want(spec("b")).record(spec("c"))
			s.in.ByHand = true
			return s
		}, "  a in_sync\n  b desired_stopped\n  c in_sync\n? c missing\n"},
		{"by hand a session on the wrong branch can be stopped", func() *stage {
			s := newStage().checkout("/ws/a", "other").want(spec("a")).live("a").record(spec("a"), func(r *session.Record) {
				r.Override = &session.Override{Desired: session.Stopped, By: "ada", At: now}
			})
			s.in.ByHand = true
			return s
		}, "‖ a desired_stopped\n? a changed\n? a branch_mismatch\n"},
		{"by hand what timed out starts again when it is asked for", func() *stage {
			s := newStage().want(spec("a")).record(spec("a")).live("a", exitedWith("timeout", 143, ""))
			s.in.ByHand, s.in.Options.Targets = true, []session.Address{"session.a"}
			return s
		}, "↻ a desired_running\n"},
		{"by hand what timed out is left when nobody asks", func() *stage {
			s := newStage().want(spec("a")).record(spec("a")).live("a", exitedWith("timeout", 143, ""))
			s.in.ByHand = true
			return s
		}, "  a timeout\n"},
		{"by hand even what is on another branch is stopped", func() *stage {
			s := newStage().checkout("/ws/a", "main").want(spec("a")).live("a").record(spec("a"), func(r *session.Record) {
				r.Override = &session.Override{Desired: session.Stopped, By: "ada", At: now}
			})
			s.in.ByHand = true
			return s
		}, "‖ a desired_stopped\n? a changed\n? a branch_mismatch\n"},
		{"by hand what is on another branch is not started", func() *stage {
			s := newStage().checkout("/ws/a", "main").want(spec("a")).record(spec("a"))
			s.in.ByHand = true
			return s
		}, "  a branch_mismatch\n! a branch mismatch\n? a missing\n? a branch_mismatch\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, story(Compute(tt.stage().in))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProblemsHaveRemedies(t *testing.T) {
	s := newStage().checkout("/ws/a", "main").all(spec("a"))
	s.checkout("/home/ada/my shop", "agents/a")
	p := Compute(s.in)
	if want, got := `workspace /ws/a is on "main", manifest declares "agents/a"`, p.Problems[0].Detail; got != want {
		t.Errorf("detail = %q, want %q", got, want)
	}
	want := session.Remedy{Code: session.RemedySwitch, Address: "session.a", Path: "/ws/a", Branch: "agents/a", HolderPath: "/home/ada/my shop"}
	if diff := cmp.Diff(want, p.Problems[0].Remedy); diff != "" {
		t.Error(diff)
	}
}

func TestRemedyOfAWorktreeThatIsGone(t *testing.T) {
	for _, c := range []struct {
		at       session.Held
		want     session.RemedyCode
		to, what string
	}{
		{session.Held{Path: "/away", Branch: "agents/a"}, session.RemedyMoveWorktree, "/away", "moved"},
		{session.Held{Path: "/away", Branch: "agents/a", Prunable: true}, session.RemedyReplaceSession, "/away", "moved and removed"},
		{session.Held{Path: repo, Branch: "agents/a"}, session.RemedyReplaceSession, repo, "its branch checked out in the repository"},
		{session.Held{Path: "/ws/b", Branch: "agents/a"}, session.RemedyReplaceSession, "/ws/b", "its branch checked out by another session"},
		{session.Held{Path: "/away", Branch: "other"}, session.RemedyReplaceSession, "", "removed"},
	} {
		s := newStage().all(spec("a")).all(spec("b"))
		s.in.World.Checkouts["/ws/a"] = session.Checkout{Path: "/ws/a"}
		s.in.World.Worktrees[repo] = []session.Held{c.at}
		p := Compute(s.in)
		if len(p.Problems) == 0 || p.Problems[0].Remedy.Code != c.want || p.Problems[0].Remedy.HolderPath != c.to {
			t.Errorf("%s: %+v", c.what, p.Problems)
		}
	}
}

func TestLiftedOverrideNamesWho(t *testing.T) {
	s := newStage().want(spec("a")).record(spec("a"), func(r *session.Record) {
		r.Override = &session.Override{Desired: session.Stopped, By: "ada", At: now.In(time.FixedZone("", -5*3600))}
	})
	c := Compute(s.in).Changes[0]
	if want := "stopped by ada at 2026-11-21T12:00:00Z; the manifest wants it running"; c.Detail != want {
		t.Errorf("detail = %q, want %q", c.Detail, want)
	}
	if c.Lifts == nil {
		t.Error("the override is not lifted")
	}
}

func TestEncodeKeepsThePlanAndItsPrompts(t *testing.T) {
	s := newStage().want(spec("a", func(s *session.Spec) {
		s.Agent.Patterns = session.Patterns{Working: []string{"w"}, Blocked: []string{"b"}}
	})).all(spec("b", func(s *session.Spec) { s.Env = map[string]string{"A": "b"} }))
	p := Compute(s.in)
	b, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(story(p), story(q)); diff != "" {
		t.Error(diff)
	}
	if got := q.Changes[0].After.Prompt.Text; got != "do a" {
		t.Errorf("prompt = %q, want %q", got, "do a")
	}
	again := Compute(Input{Now: now, Project: "shop", Lineage: lineage, Wanted: q.Wanted(), Records: s.in.Records, World: s.in.World})
	for i, c := range again.Changes {
		if !c.Matches(q.Changes[i]) {
			t.Errorf("%s does not match its saved change", c.Address)
		}
	}
}

func TestDecodeRefusesWhatIsNoPlan(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "not a plan file",
		"{}":                      "not a plan file",
		`{"agentform_plan": 99}`:  "version 99",
		`{"agentform_plan": "x"}`: "damaged",
	} {
		if _, err := Decode([]byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Decode(%q) = %v, want an error with %q", in, err, want)
		}
	}
}

func TestFailedCreationIsAState(t *testing.T) {
	s := newStage().want(spec("a")).record(spec("a"), func(r *session.Record) {
		r.Intent, r.LastError = session.Creating, "setup: make deps: exit status 2"
	})
	d := Diagnose(&s.in.Records[0], nil, s.in.World)
	if d.State != session.StateError || d.Detail != "its creation failed: setup: make deps: exit status 2" {
		t.Errorf("diagnosed %s: %s", d.State, d.Detail)
	}
}
