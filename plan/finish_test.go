package plan

import (
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestFinish checks when a session is ended as done, and what makes one that is done run again.
func TestFinish(t *testing.T) {
	a := session.Single("a")
	turn := func(s *session.Spec) { s.Finish = session.FinishTurn }
	lands := func(s *session.Spec) { s.Finish = session.FinishLanded }
	verified := func(s *session.Spec) { s.Finish = session.FinishVerified }
	outcome := func(ok bool, at time.Time) func(*session.Record) {
		return func(r *session.Record) { r.Verified = &session.Verified{Commit: "c0ffee", OK: ok, At: at} }
	}
	ended := now.Add(-time.Minute)
	landed := &session.Landed{Into: "main", Commit: "9fd63381234", From: "1234", At: now.Add(-time.Second)}
	rests := session.Doing{Run: "run-a", Activity: session.Idle, Since: now.Add(-time.Hour), Ended: ended}
	done := func(r *session.Record) { r.Finished = &session.Finished{By: session.FinishTurn, At: ended} }
	spent := func(r *session.Record) {
		done(r)
		r.Landed, r.Run, r.Tree, r.Location = landed, session.Run{}, session.WorkspaceState{}, session.Location{}
	}
	prompt := func(text string) func(*session.Spec) {
		return func(s *session.Spec) { s.Prompt = session.PromptOf(text) }
	}
	options := func(s *stage, change func(*Options)) *stage { change(&s.in.Options); return s }
	for name, c := range map[string]struct {
		stage *stage
		does  session.Doing
		want  string
	}{
		"its turn has ended":                          {newStage().all(spec("a", turn)), rests, "‖ a finished\n"},
		"it is declared now":                          {newStage().record(spec("a")).live("a").want(spec("a", turn)), rests, "‖ a finished finish\n"},
		"it is at work":                               {newStage().all(spec("a", turn)), session.Doing{Run: "run-a", Activity: session.Working}, "  a in_sync\n"},
		"an earlier run":                              {newStage().all(spec("a", turn)), session.Doing{Run: "run-0", Ended: ended}, "  a in_sync\n"},
		"it never ends":                               {newStage().all(spec("a")), rests, "  a in_sync\n"},
		"it was started since":                        {newStage().record(spec("a", turn), func(r *session.Record) { r.FinishFrom = now }).live("a").want(spec("a", turn)), rests, "  a in_sync\n"},
		"it is declared paused":                       {newStage().all(spec("a", turn, func(s *session.Spec) { s.Desired = session.Paused })), rests, "‖ a desired_paused\n? a changed\n"},
		"a command was killed":                        {newStage().record(spec("a", turn), done).live("a").want(spec("a", turn)), session.Doing{}, "‖ a finished\n"},
		"a command was killed, and it was given more": {newStage().record(spec("a", turn), done).live("a").want(spec("a", turn)), session.Doing{Run: "run-a", Activity: session.Working, Since: now}, "  a in_sync\n"},
		"landed, and it has worked on by itself":      {newStage().record(spec("a", lands), func(r *session.Record) { r.Landed = landed }).live("a").want(spec("a", lands)), session.Doing{Run: "run-a", Activity: session.Idle, Since: now.Add(-time.Hour), Ended: now}, "  a in_sync\n"},
		"removed, with the path of another address":   {newStage().record(spec("a", turn), spent).want(spec("a", turn, func(s *session.Spec) { s.Workspace.Path = "/ws/b" })), session.Doing{}, "~ a spec_changed workspace.path\n"},
		"not landed":                                  {newStage().all(spec("a", lands)), rests, "  a in_sync\n"},
		"landed":                                      {newStage().record(spec("a", lands), func(r *session.Record) { r.Landed = landed }).live("a").want(spec("a", lands)), rests, "‖ a finished\n"},
		"landed, and it works on":                     {newStage().record(spec("a", lands), func(r *session.Record) { r.Landed = landed }).live("a").want(spec("a", lands)), session.Doing{Run: "run-a", Activity: session.Idle, Since: now, Ended: now}, "  a in_sync\n"},
		"not verified":                                {newStage().all(spec("a", verified)), rests, "  a in_sync\n"},
		"red":                                         {newStage().record(spec("a", verified), outcome(false, now)).live("a").want(spec("a", verified)), rests, "  a in_sync\n"},
		"verified":                                    {newStage().record(spec("a", verified), outcome(true, now)).live("a").want(spec("a", verified)), rests, "‖ a finished\n"},
		"verified by another command":                 {newStage().record(spec("a", verified), outcome(true, now)).live("a").want(spec("a", verified, func(s *session.Spec) { s.Verify.Command = []string{"make"} })), rests, "~ a spec_changed verify.command\n"},
		"verified without protected files":            {newStage().record(spec("a", verified), outcome(true, now)).live("a").want(spec("a", verified, func(s *session.Spec) { s.Verify.Protect = []string{"tests"} })), rests, "~ a spec_changed verify.protect\n"},
		"verified before its last turn":               {newStage().record(spec("a", verified), outcome(true, ended.Add(-1))).live("a").want(spec("a", verified)), rests, "  a in_sync\n"},
		"verified, and it works on":                   {newStage().record(spec("a", verified), outcome(true, now)).live("a").want(spec("a", verified)), session.Doing{Run: "run-a", Activity: session.Working, Since: now}, "  a in_sync\n"},
		"done":                                        {newStage().record(spec("a", turn), done).want(spec("a", turn)), session.Doing{}, "  a finished\n"},
		"done, with another prompt":                   {newStage().record(spec("a", turn, prompt("one")), done).want(spec("a", turn, prompt("two"))), session.Doing{}, "↻ a prompt_changed prompt\n"},
		"done, with another branch":                   {newStage().record(spec("a", turn), done).want(spec("a", turn, func(s *session.Spec) { s.Branch, s.Workspace.Path = "other", "/ws/a2" })), session.Doing{}, "± a branch_changed branch workspace.path\n"},
		"done, with another variable":                 {newStage().record(spec("a", turn), done).want(spec("a", turn, func(s *session.Spec) { s.Env = map[string]string{"A": "1"} })), session.Doing{}, "~ a spec_changed env\n"},
		"done, and it is asked for":                   {options(newStage().record(spec("a", turn), done).want(spec("a", turn)), func(o *Options) { o.Replace = []session.Address{a} }), session.Doing{}, "± a requested\n"},
		"done, and not wanted":                        {newStage().record(spec("a", turn), done), session.Doing{}, ". a nothing_left\n"},
		"removed":                                     {newStage().checkout("/ws/a", "").record(spec("a", turn), spent).want(spec("a", turn)), session.Doing{}, "  a finished\n"},
		"removed, with another prompt":                {newStage().record(spec("a", turn, prompt("one")), spent).want(spec("a", turn, prompt("two"))), session.Doing{}, "+ a spec_changed\n"},
		"removed, with another branch":                {newStage().record(spec("a", turn), spent).want(spec("a", turn, func(s *session.Spec) { s.Branch = "other" })), session.Doing{}, "+ a spec_changed\n"},
		"removed, with another timeout":               {newStage().record(spec("a", turn), spent).want(spec("a", turn, func(s *session.Spec) { s.Timeout = 1 })), session.Doing{}, "~ a spec_changed timeout\n"},
		"removed, and it is asked for":                {options(newStage().record(spec("a", turn), spent).want(spec("a", turn)), func(o *Options) { o.Replace = []session.Address{a} }), session.Doing{}, "+ a requested\n"},
		"removed, and not wanted":                     {newStage().record(spec("a", turn), spent), session.Doing{}, ". a nothing_left\n"},
		"removed, by hand": {func() *stage {
			s := newStage().record(spec("a", turn), spent).want(spec("a", turn))
			s.in.ByHand, s.in.Options.Targets, s.in.Options.Restart = true, []session.Address{a}, []session.Address{a}
			return s
		}(), session.Doing{}, "  a finished\n"},
	} {
		c.stage.in.Doing = map[session.Address]session.Doing{a: c.does}
		p := Compute(c.stage.in)
		if got := story(p); got != c.want {
			t.Errorf("%s: %q, want %q (%s)", name, got, c.want, p.Changes[0].Detail)
		}
		if ends := p.Changes[0].Reason == ReasonFinished && p.Changes[0].Action == Stop; ends != (p.Changes[0].Finishes != nil) {
			t.Errorf("%s: it finishes %+v", name, p.Changes[0].Finishes)
		}
	}
}

// TestFinishedDependency checks that one that is done is what its dependents wait for, also
// while it is ended, and when it was removed.
func TestFinishedDependency(t *testing.T) {
	turn := func(s *session.Spec) { s.Finish = session.FinishTurn }
	waits := func(s *session.Spec) {
		s.DependsOn, s.Until = []session.Address{"session.a"}, map[session.Address]session.Await{"session.a": session.AwaitDone}
	}
	done := func(r *session.Record) { r.Finished = &session.Finished{By: session.FinishTurn} }
	for name, c := range map[string]struct {
		stage *stage
		want  string
	}{
		"it works":   {newStage().all(spec("a", turn)), "  a in_sync\n… b dependency_not_ready\n"},
		"it is done": {newStage().record(spec("a", turn), done).want(spec("a", turn)), "  a finished\n+ b not_recorded\n"},
		"it was removed": {newStage().record(spec("a", turn), done, func(r *session.Record) {
			r.Landed, r.Run, r.Tree = &session.Landed{Into: "main", Commit: "9fd6338"}, session.Run{}, session.WorkspaceState{}
		}).want(spec("a", turn)), "  a finished\n+ b not_recorded\n"},
	} {
		c.stage.want(spec("b", waits))
		c.stage.in.Options.MaxRunning = 1
		if got := story(Compute(c.stage.in)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	s := newStage().all(spec("a", turn)).want(spec("b", waits))
	s.in.Options.MaxRunning = 1
	s.in.Doing = map[session.Address]session.Doing{"session.a": {Run: "run-a", Activity: session.Idle, Turn: true, Ended: now}}
	if got, want := story(Compute(s.in)), "‖ a finished\n… b dependency_not_ready\n"; got != want {
		t.Errorf("it is being ended: %q, want %q", got, want)
	}
}
