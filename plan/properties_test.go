package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "github.com/agentform/agentform/internal/test/seed"
	"github.com/agentform/agentform/session"
)

// anyStage draws a world of up to six sessions, each wanted, on record and live
// or not, in every condition that the decision table knows.
func anyStage(t *rapid.T) *stage {
	s := newStage()
	s.in.Doing = map[session.Address]session.Doing{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"}[:rapid.IntRange(1, 6).Draw(t, "sessions")] {
		sp := anySpec(t, name)
		if rapid.Bool().Draw(t, name+" recorded") {
			recorded := anySpec(t, name)
			s.record(recorded, func(r *session.Record) {
				r.Intent = rapid.SampledFrom([]session.Intent{"", "", "", session.Creating, session.Restarting, session.Stopping, session.Removing}).Draw(t, name+" intent")
				r.Origin = rapid.SampledFrom([]session.Origin{session.FromManifest, session.FromManifest, session.FromRun}).Draw(t, name+" origin")
				r.Run.BootID = rapid.SampledFrom([]string{boot, boot, "boot-0"}).Draw(t, name+" boot")
				if rapid.IntRange(0, 3).Draw(t, name+" override") == 0 {
					r.Override = &session.Override{By: "ada", At: now,
						Desired: rapid.SampledFrom([]session.Desired{session.Stopped, session.Paused}).Draw(t, name+" overridden")}
				}
				switch rapid.SampledFrom([]string{"", "", "", "done", "landed", "spent"}).Draw(t, name+" end") {
				case "done":
					r.Intent = rapid.SampledFrom([]session.Intent{session.Settled, session.Stopping}).Draw(t, name+" done")
					r.Finished = &session.Finished{By: session.FinishTurn, At: now}
				case "landed":
					r.Landed = &session.Landed{Into: "main", Commit: "9fd6338", At: now}
				case "spent":
					r.Landed, r.Intent = &session.Landed{Into: "main", Commit: "9fd6338", At: now}, session.Settled
					r.Run, r.Tree, r.Location = session.Run{}, session.WorkspaceState{}, session.Location{}
				}
				if ended := now.Add(-time.Minute); rapid.Bool().Draw(t, name+" turn ended") {
					s.in.Doing[session.Single(name)] = session.Doing{Run: r.Run.ID, Activity: session.Idle, Since: ended, Ended: ended}
				}
			})
			s.disturb(t, name, recorded.Workspace.Path)
			sp.Prompt = rapid.SampledFrom([]session.Prompt{sp.Prompt, recorded.Prompt}).Draw(t, name+" prompt kept")
		}
		if rapid.Bool().Draw(t, name+" wanted") {
			s.want(sp)
		}
		lives := rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, name+" lives")
		if n := len(s.in.Records); n > 0 && s.in.Records[n-1].Spec.Address == sp.Address && s.in.Records[n-1].Spent() {
			lives = 0 // it was seen gone before
		}
		for i := range lives {
			s.live(name, anyLife(t, name), func(l *session.Live) {
				l.Location.Socket = fmt.Sprintf("/run/tmux-%d", i)
				if i > 0 {
					l.Mark.Run = "run-y" // a run is claimed once: no two live ones are one run
				}
			})
		}
	}
	return s
}

func anySpec(t *rapid.T, name string) session.Spec {
	return spec(name, func(s *session.Spec) {
		s.Desired = rapid.SampledFrom([]session.Desired{session.Running, session.Running, session.Paused, session.Stopped}).Draw(t, name+" desired")
		s.Agent.OneShot = rapid.Bool().Draw(t, name+" one shot")
		s.Finish = rapid.SampledFrom([]session.Finish{session.FinishNever, session.FinishNever, session.FinishTurn, session.FinishLanded}).Draw(t, name+" finish")
		s.Priority = rapid.IntRange(0, 1).Draw(t, name+" priority")
		if rapid.Bool().Draw(t, name+" env") {
			s.Env = map[string]string{"A": "1"}
		}
		if rapid.IntRange(0, 3).Draw(t, name+" other branch") == 0 {
			s.Branch, s.Workspace.Path = "other/"+name, "/ws/other-"+name
		}
	})
}

// disturb does to a workspace what people do.
func (s *stage) disturb(t *rapid.T, name, path string) {
	co := s.in.World.Checkouts[path]
	switch rapid.SampledFrom([]string{"", "", "", "moved", "detached", "gone", "unreadable"}).Draw(t, name+" workspace") {
	case "moved":
		co.Branch = rapid.SampledFrom([]string{"main", "agents/" + name, "other/" + name}).Draw(t, name+" moved to")
	case "detached":
		co.Branch, co.Head = "", "0123456789"
	case "gone":
		co = session.Checkout{Path: path}
	case "unreadable":
		co = session.Checkout{Path: path, Err: errors.New("permission denied")}
	}
	s.in.World.Checkouts[path] = co
}

func anyLife(t *rapid.T, name string) func(*session.Live) {
	return func(l *session.Live) {
		l.Mark.Run = rapid.SampledFrom([]string{"run-" + name, "run-" + name, "run-x"}).Draw(t, name+" run")
		l.Foreign = rapid.IntRange(0, 5).Draw(t, name+" foreign") == 0
		switch rapid.SampledFrom([]string{"alive", "alive", "paused", "finished", "left", "killed", "dead", "unknown"}).Draw(t, name+" liveness") {
		case "paused":
			l.InputOff = true
		case "finished":
			exitedWith("self", 0, "")(l)
		case "left":
			exitedWith("requested", 0, "")(l)
		case "killed":
			exitedWith("self", 137, "SIGKILL")(l)
		case "dead":
			l.Liveness = session.Dead
		case "unknown":
			l.Liveness = session.Unknown
		}
	}
}

// carryOut is what apply does to the world and the records, without the world.
func carryOut(in Input, p Plan) Input {
	records := map[session.Address]session.Record{}
	for _, r := range in.Records {
		records[r.Address] = r
	}
	lives := slices.Clone(in.World.Lives)
	checkouts := map[string]session.Checkout{}
	for k, v := range in.World.Checkouts {
		checkouts[k] = v
	}
	held := slices.Clone(in.World.Worktrees[repo])
	drop := func(l *session.Live) {
		lives = slices.DeleteFunc(lives, func(o session.Live) bool {
			return l != nil && o.Mark == l.Mark && o.Location == l.Location && o.Foreign == l.Foreign
		})
	}
	launch := func(r *session.Record, paused bool) {
		r.Run.ID += "'"
		r.Finished, r.Landed = nil, nil
		r.Run.BootID = boot
		lives = append(lives, session.Live{Mark: session.Mark{Project: lineage, Address: r.Address, ID: r.ID, Run: r.Run.ID},
			Location: session.Location{Runtime: "tmux", Name: r.Address.OutsideName("shop")}, PlaceUp: true, Liveness: session.Alive, InputOff: paused})
	}
	var do func(c Change, a Action)
	do = func(c Change, a Action) {
		r, had := records[c.Address]
		if c.Lifts != nil {
			r.Override = nil
		}
		if c.After != nil {
			r.Spec = *c.After
		}
		r.Intent = session.Settled
		switch a {
		case Create, Replace:
			drop(c.Live)
			if !had || a == Replace {
				r.ID, r.Override, r.Origin = "id'-"+c.Address.Block(), nil, session.FromManifest
			}
			r.Address = c.Address
			w := r.Spec.Workspace
			if !checkouts[w.Path].Exists {
				checkouts[w.Path] = session.Checkout{Path: w.Path, Exists: true, Git: true, Branch: r.Spec.Branch}
				held = append(held, session.Held{Path: w.Path, Branch: r.Spec.Branch})
			}
			r.Tree = session.WorkspaceState{Path: w.Path, Mode: w.Mode, Repo: w.Repo, Branch: r.Spec.Branch, Created: true}
			launch(&r, c.Then == Pause)
		case Restart:
			drop(c.Live)
			launch(&r, c.Then == Pause)
		case Update:
			if c.Live != nil {
				r.Run.ID = c.Live.Mark.Run
			}
			if checkouts[r.Tree.Path].Branch == r.Spec.Branch {
				r.Tree.Branch = r.Spec.Branch
			}
		case Pause, Resume:
			r.Run.ID = c.Live.Mark.Run
			for i := range lives {
				if lives[i].Mark == c.Live.Mark && lives[i].Location == c.Live.Location && !lives[i].Foreign {
					lives[i].InputOff = a == Pause
				}
			}
		case Stop:
			drop(c.Live)
			if c.Finishes != nil {
				r.Finished = c.Finishes
			}
		case Delete, Forget:
			drop(c.Live)
			delete(records, c.Address)
			return
		case Adopt:
			was := *c.After
			if c.Live.Spec != nil {
				was = *c.Live.Spec
			}
			r = session.Record{ID: c.Live.Mark.ID, Address: c.Address, Origin: session.FromManifest, Spec: was,
				Run:  session.Run{ID: c.Live.Mark.Run, BootID: boot},
				Tree: session.WorkspaceState{Path: was.Workspace.Path, Mode: was.Workspace.Mode, Repo: repo, Branch: was.Branch}}
			records[c.Address] = r
			if c.Then != "" {
				then := c.Then
				c.Then = ""
				if c.After.Desired == session.Paused && (then == Restart || then == Replace) {
					c.Then = Pause
				}
				do(c, then)
			}
			return
		}
		records[c.Address] = r
	}
	for _, c := range p.Changes {
		if c.Action.Acts() {
			do(c, c.Action)
		}
	}
	in.Records = nil
	for _, r := range records {
		in.Records = append(in.Records, r)
	}
	in.World.Lives, in.World.Checkouts = lives, checkouts
	in.World.Worktrees = map[string][]session.Held{repo: held}
	return in
}

func TestApplyThenPlanIsEmpty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyStage(t).in
		first := Compute(in)
		again := Compute(carryOut(in, first))
		for _, c := range again.Changes {
			if c.Action.Acts() {
				t.Fatalf("after applying\n%s\nthere is still to do\n%s", story(first), story(again))
			}
		}
	})
}

func TestOnlyWhatIsOursIsTouched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyStage(t).in
		others := func(lives []session.Live) (names []string) {
			for _, l := range lives {
				if l.Foreign {
					names = append(names, fmt.Sprintf("%v %v %v", l.Mark, l.Liveness, l.InputOff))
				}
			}
			return names
		}
		p := Compute(in)
		for _, c := range p.Changes {
			if c.Action.Acts() && c.Live != nil && c.Live.Foreign {
				t.Fatalf("%s touches what is not ours", c.Address)
			}
		}
		if before, after := others(in.World.Lives), others(carryOut(in, p).World.Lives); !slices.Equal(before, after) {
			t.Fatalf("others before %v, after %v", before, after)
		}
	})
}

func TestFinishedSessionIsNotStartedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyStage(t).in
		for _, c := range Compute(in).Changes {
			if c.Before == nil || c.Live == nil || Diagnose(c.Before, c.Live, in.World).Reason != ReasonFinished {
				continue
			}
			if !starts(c) || c.Action == Adopt {
				continue
			}
			if !slices.ContainsFunc(c.Fields, func(f Field) bool {
				return f.Path == "prompt" || f.Path == "branch" || strings.HasPrefix(f.Path, "workspace.")
			}) {
				t.Fatalf("%s is finished and yet %s: %s", c.Address, c.Action, c.Detail)
			}
		}
	})
}

func TestNothingIsDoneOnAGuess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyStage(t)
		blind := rapid.Bool().Draw(t, "runtime unreachable")
		if blind {
			s.in.World.Runtimes["tmux"] = errors.New("no answer")
		}
		for _, c := range Compute(s.in).Changes {
			unknown := blind || c.Live != nil && c.Live.PlaceUp && c.Live.Liveness == session.Unknown
			if unknown && c.Action.Acts() && c.After != nil {
				t.Fatalf("%s: %s on a guess", c.Address, c.Action)
			}
		}
	})
}

func TestOrderOfInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyStage(t).in
		in.Options.MaxRunning = rapid.IntRange(0, 4).Draw(t, "max running")
		first := story(Compute(in))
		in.Wanted = rapid.Permutation(in.Wanted).Draw(t, "wanted")
		in.Records = rapid.Permutation(in.Records).Draw(t, "records")
		in.World.Lives = rapid.Permutation(in.World.Lives).Draw(t, "lives")
		if again := story(Compute(in)); again != first {
			t.Fatalf("one order gives\n%s\nanother\n%s", first, again)
		}
	})
}

func TestBranchIsHeldAtEveryLook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyStage(t).in
		p := Compute(in)
		for _, c := range p.Changes {
			if c.Before == nil || c.After == nil || c.State == session.StateUnknown || c.Before.Intent == session.Creating {
				continue
			}
			if c.Before.Spent() {
				continue // it has no workspace
			}
			co := in.World.Checkouts[c.Before.Tree.Path]
			onItsWay := co.Branch == c.After.Branch || co.Branch == c.Before.Tree.Branch && c.After.Workspace.Path != c.Before.Tree.Path
			if co.Exists && onItsWay || !co.Exists && c.Before.Intent == session.Removing {
				continue
			}
			if !slices.ContainsFunc(p.Problems, func(d session.Diagnostic) bool { return d.Address == c.Address }) {
				t.Fatalf("%s is on %q, %q is declared, and nobody says so", c.Address, co.Branch, c.After.Branch)
			}
		}
	})
}

func BenchmarkCompute(b *testing.B) {
	for _, n := range []int{1000, 5000} {
		s := newStage()
		for i := range n {
			s.all(spec(fmt.Sprintf("s%d", i)))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if p := Compute(s.in); p.Acts() {
					b.Fatal("expected nothing to do")
				}
			}
		})
	}
}
