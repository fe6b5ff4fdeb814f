package status

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func TestOf(t *testing.T) {
	yes, no := true, false
	alive := plan.Diagnosis{State: session.StateRunning, Alive: &yes, Detail: "running"}
	r := record("session.api", "agents/api")
	on := func(branch string) *session.Checkout {
		return &session.Checkout{Exists: true, Git: true, Branch: branch}
	}
	for name, c := range map[string]struct {
		known Input
		check func(api.Session) bool
	}{
		"not ready is starting": {Input{Record: r, Diagnosis: alive, Look: &activity.Look{Activity: session.NoActivity, Starting: true}},
			func(s api.Session) bool { return s.State == session.StateStarting && s.Status == session.StatusBooting }},
		"a question before it is ready": {Input{Record: r, Diagnosis: alive, Look: &activity.Look{Activity: session.Blocked, Starting: true}},
			func(s api.Session) bool { return s.State == session.StateStarting && s.Status == session.StatusBlocked }},
		"booting is starting": {Input{Record: r, Diagnosis: alive, Look: &activity.Look{Detection: session.Detection{Activity: session.Booting}}},
			func(s api.Session) bool { return s.State == session.StateStarting && s.Status == session.StatusBooting }},
		"running says what the agent says": {Input{Record: r, Diagnosis: alive, Look: &activity.Look{Detection: session.Detection{Activity: session.BlockedAPI, Detail: "limit until 3pm", PR: "https://example.org/pull/1"}}},
			func(s api.Session) bool {
				return s.Status == session.StatusBlockedAPI && s.Detail == "limit until 3pm" && s.PR == "https://example.org/pull/1"
			}},
		"unknown is not dead": {Input{Record: r, Diagnosis: plan.Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Detail: "no answer"}},
			func(s api.Session) bool {
				return s.Alive == nil && s.PID == nil && s.Health == "unknown" && s.Detail == "no answer"
			}},
		"the manifest's word, a person's before it": {Input{Wanted: wanted(spec("session.api", "agents/new")), Record: overridden(*r), Diagnosis: alive},
			func(s api.Session) bool { return s.Branch == "agents/new" && s.Desired == session.Stopped }},
		"the last error is shown": {Input{Record: withLastError(*r), Diagnosis: plan.Diagnosis{State: session.StateError, Alive: &no}},
			func(s api.Session) bool {
				return s.Detail == "setup: exit status 2" && s.Status == session.StatusFailed
			}},
		"the last error hides no question": {Input{Record: withLastError(*r), Diagnosis: alive, Look: &activity.Look{Detection: session.Detection{Activity: session.Blocked, Detail: "run it?"}}},
			func(s api.Session) bool { return s.Detail == "run it?" }},
		"the last error of one that says nothing": {Input{Record: withLastError(*r), Diagnosis: alive, Look: &activity.Look{Detection: session.Detection{Activity: session.Idle}}},
			func(s api.Session) bool { return s.Detail == "setup: exit status 2" }},
		"the agent's last message is what it does": {Input{Record: r, Diagnosis: alive, Live: &session.Live{Screen: "> \n"}, Look: &activity.Look{Transcript: &session.Transcript{LastPrompt: "go", LastMessage: "I look\nat " + strings.Repeat("é", 200)}}},
			func(s api.Session) bool { return s.Doing == "I look at "+strings.Repeat("é", 75) }},
		"before it has said anything it is the prompt": {Input{Record: r, Diagnosis: alive, Look: &activity.Look{Transcript: &session.Transcript{LastPrompt: "go"}}},
			func(s api.Session) bool { return s.Doing == "go" }},
		"without a session file it is the last line": {Input{Record: r, Diagnosis: alive, Live: &session.Live{Screen: "one\n\x1b[1mtwo\x1b[m  \n\n"}},
			func(s api.Session) bool {
				return strings.Contains(s.Doing, "two") && !strings.Contains(s.Doing, "\x1b") && !strings.Contains(s.Doing, "one")
			}},
		"live ids win": {Input{Record: r, Diagnosis: alive, Live: &session.Live{Liveness: session.Alive, Agent: session.Process{PID: 7}, Location: session.Location{Pane: "%9"}, Started: at}},
			func(s api.Session) bool { return *s.PID == 7 && s.PaneID == "%9" && s.StartedAt.Equal(wire.UTC(at)) }},
		"only live": {Input{Live: &session.Live{Mark: session.Mark{Address: "session.ghost", ID: "ghost-1"}, Location: session.Location{Runtime: "tmux"}}, Diagnosis: alive},
			func(s api.Session) bool {
				return s.Address == "session.ghost" && s.ID == "ghost-1" && s.Runtime == "tmux" && s.Origin == ""
			}},
		"only wanted": {Input{Wanted: wanted(spec("session.api", "agents/api")), Checkout: &session.Checkout{}, Diagnosis: plan.Diagnosis{State: session.StatePending, Alive: &no, Reason: plan.ReasonNew, Detail: "not in the state"}},
			func(s api.Session) bool {
				return s.BranchOK == nil && s.Detail == "not in the state" && s.ID == "" && !s.Observable
			}},
		"on its branch":     {Input{Record: r, Diagnosis: alive, Checkout: on("agents/api")}, func(s api.Session) bool { return *s.BranchOK }},
		"on another branch": {Input{Record: r, Diagnosis: alive, Checkout: on("main")}, func(s api.Session) bool { return !*s.BranchOK && s.BranchLive == "main" }},
		"workspace gone":    {Input{Record: r, Diagnosis: alive, Checkout: &session.Checkout{}}, func(s api.Session) bool { return !*s.BranchOK }},
		"workspace not read": {Input{Record: r, Diagnosis: alive, Checkout: &session.Checkout{Err: errors.New("permission denied")}}, func(s api.Session) bool {
			return s.BranchOK == nil && strings.Contains(s.BranchFault, "cannot be read: permission denied")
		}},
		"observable":     {Input{Record: r, Diagnosis: alive, Look: &activity.Look{Observable: true}}, func(s api.Session) bool { return s.Observable }},
		"not observable": {Input{Record: r, Diagnosis: alive, Look: &activity.Look{}}, func(s api.Session) bool { return !s.Observable }},
		"its first turn is in its history": {Input{Record: r, Diagnosis: alive, Look: &activity.Look{FirstTurnAt: at},
			Events: []history.Event{{Kind: history.FirstTurnDone, Run: r.Run.ID, Elapsed: session.Duration(time.Minute)}}},
			func(s api.Session) bool { return s.FirstTurnAt.Equal(wire.UTC(r.Run.StartedAt.Add(time.Minute))) }},
		"its first turn is in its file": {Input{Record: r, Diagnosis: alive, Look: &activity.Look{FirstTurnAt: at}}, func(s api.Session) bool { return s.FirstTurnAt.Equal(wire.UTC(at)) }},
		"restarts of the run":           {Input{Record: r, Diagnosis: alive}, func(s api.Session) bool { return s.Restarts == 1 }},
	} {
		if s := Of(c.known); !c.check(s) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func overridden(r session.Record) *session.Record {
	r.Override = &session.Override{Desired: session.Stopped, By: "ada", At: at}
	return &r
}

func withLastError(r session.Record) *session.Record {
	r.LastError = "setup: exit status 2"
	return &r
}

// What the hub holds back is said once, however often it is laid on.
func TestHoldTwice(t *testing.T) {
	k := Input{Diagnosis: plan.Diagnosis{State: session.StateStale, Detail: "stale: exit status 1"}}
	c := plan.Change{Action: plan.Hold, Reason: plan.ReasonSecret, Detail: "secret KEY is not available", State: session.StateStale}
	k.Hold(c)
	k.Hold(c)
	if want := "stale: exit status 1; secret KEY is not available"; k.Diagnosis.Detail != want {
		t.Errorf("it says %q, want %q", k.Diagnosis.Detail, want)
	}
}

// TestStoppedByABudget checks that a session which its budget stopped has not timed out, and
// does not wait for a person.
func TestStoppedByABudget(t *testing.T) {
	r := record("session.api", "agents/api")
	dead := false
	k := Input{Record: r, At: at, Diagnosis: plan.Diagnosis{State: session.StateStopped, Activity: session.Exited, Alive: &dead}}
	if s := Of(k); Word(s) != "timed out" {
		t.Errorf("without a budget it is %q", Word(s))
	}
	r.OverBudget = &session.OverBudget{Budget: "night", Desired: session.Stopped, Detail: "2 of 1 tokens"}
	if s := Of(k); Word(s) != "stopped" || s.Needs != nil {
		t.Errorf("it is %q and needs %+v", Word(s), s.Needs)
	}
}

// That the hub has given up is what is said of a session, also if its last action failed.
func TestGaveUpIsSaid(t *testing.T) {
	dead := false
	k := Input{Record: &session.Record{Address: "session.api", LastError: "type the prompt: it was typed, and the agent has left: is gone"},
		Diagnosis: plan.Diagnosis{State: session.StateStale, Alive: &dead, Detail: "stale: session is gone"}}
	v := health.Verdict{Reason: health.BudgetGone, Try: 4, Of: 3, Window: 15 * time.Minute}
	k.Hold(plan.Change{Action: plan.Hold, State: session.StateError, Detail: v.String(), Restarts: &v})
	s := Of(k)
	if !strings.Contains(s.Detail, "not restarted: 3 attempts") || strings.Contains(s.Detail, "type the prompt") {
		t.Errorf("it says %q", s.Detail)
	}
	if s.Budget == nil || s.Budget.Try != 3 || s.Budget.Of != 3 {
		t.Errorf("budget %+v", s.Budget)
	}
	k.Restarts = nil
	if s := Of(k); !strings.Contains(s.Detail, "type the prompt") {
		t.Errorf("without a budget it says %q", s.Detail)
	}
}

// TestUnverifiableIsSaid checks that a session whose work cannot be verified needs a person, and why,
// until it is verified or its agent is given something else.
func TestUnverifiableIsSaid(t *testing.T) {
	alive := true
	told := history.Event{Kind: history.Escalated, Reason: history.CannotVerify, Detail: "no runtime", Time: ago(2 * time.Minute)}
	for name, c := range map[string]struct {
		after    []history.Event
		verified *session.Verified
		want     string
	}{
		"it cannot be":                  {nil, nil, "verification_failed 2m: its work cannot be verified: no runtime"},
		"it was before":                 {nil, &session.Verified{OK: true, At: ago(3 * time.Minute)}, "verification_failed 2m: its work cannot be verified: no runtime"},
		"it is by now":                  {nil, &session.Verified{OK: true, At: ago(time.Minute)}, "turn_ended 16m: "},
		"it failed since":               {[]history.Event{{Kind: history.VerificationFailed, Time: ago(time.Minute)}}, nil, "turn_ended 16m: "},
		"its agent is given more since": {[]history.Event{{Kind: history.Sent, Time: ago(time.Minute)}}, nil, ": "},
	} {
		r := session.Record{Address: "session.api", Run: session.Run{ID: "run", DeliveredAt: ago(time.Hour)}, Verified: c.verified}
		r.Spec.Verify.Command = []string{"make"}
		k := Input{Record: &r, At: at, Live: &session.Live{Liveness: session.Alive, MovedAt: ago(time.Second)},
			Diagnosis: plan.Diagnosis{State: session.StateRunning, Alive: &alive},
			Look:      &activity.Look{Detection: session.Detection{Activity: session.Idle}, TurnAt: ago(16 * time.Minute)},
			Events:    append([]history.Event{told}, c.after...)}
		s := Of(k)
		got := ": " + s.Detail
		if n := s.Needs; n != nil {
			got = n.Reason + " " + plaintext.Age(at.Sub(n.Since)) + got
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestPullRequestIsHeld checks that a session whose pull request is held needs a person, and why,
// until its work has landed or the manifest does not ask for it.
func TestPullRequestIsHeld(t *testing.T) {
	alive := true
	held := &session.PullRequest{Number: 12, URL: "https://github.com/shop/api/pull/12", State: session.PROpen, HeldAt: ago(2 * time.Minute), Detail: "it has pushed nothing"}
	for name, c := range map[string]struct {
		rounds int
		pr     *session.PullRequest
		landed *session.Landed
		want   string
	}{
		"it is":           {3, held, nil, "pr_held 2m: it has pushed nothing"},
		"it is not":       {3, &session.PullRequest{URL: held.URL}, nil, "turn_ended 16m: "},
		"nobody asks":     {0, held, nil, "turn_ended 16m: "},
		"landed since":    {3, held, &session.Landed{Into: "main", Commit: "9fd63381", At: ago(time.Minute)}, ": landed in main at 9fd6338"},
		"of the next one": {3, held, &session.Landed{At: ago(time.Hour)}, "pr_held 2m: it has pushed nothing"},
	} {
		r := session.Record{Address: "session.api", Run: session.Run{ID: "run", DeliveredAt: ago(time.Hour)}, PR: c.pr, Landed: c.landed}
		r.Spec.PR.Rounds = c.rounds
		s := Of(Input{Record: &r, At: at, Live: &session.Live{Liveness: session.Alive, MovedAt: ago(time.Second)},
			Diagnosis: plan.Diagnosis{State: session.StateRunning, Alive: &alive},
			Look:      &activity.Look{Detection: session.Detection{Activity: session.Idle, PR: "https://github.com/other/pull/1"}, TurnAt: ago(16 * time.Minute)}})
		needs := ""
		if s.Needs != nil {
			needs = s.Needs.Reason + " " + plaintext.Age(at.Sub(s.Needs.Since))
		}
		if got := needs + ": " + s.Detail; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if asked := c.rounds > 0; (s.Pull != nil) != asked || asked && (s.PR != held.URL || s.Pull.Held != strings.HasPrefix(c.want, "pr_held")) {
			t.Errorf("%s: %s, %+v", name, s.PR, s.Pull)
		}
	}
}

func TestLookByHand(t *testing.T) {
	x := Detail{Record: record("session.api", "agents/api")}
	x.Record.Location = session.Location{Runtime: "docker", Name: "shop-api", Container: "shop-api", Socket: "/run/a b"}
	want := "docker exec -it shop-api tmux -S '/run/a b' attach -t '=shop-api'"
	if got := x.Commands(); len(got) != 2 || got[0] != want {
		t.Errorf("got %q, want first %q", got, want)
	}
	x.Record.Location = session.Location{Runtime: "docker", Name: "theirs", Container: "theirs"}
	if got := x.Commands(); len(got) != 2 || got[0] != "docker exec -it theirs tmux attach" || got[1] != "docker exec -it theirs tmux capture-pane -p" {
		t.Errorf("of an adopted container, whose tmux session has a name of its own: %q", got)
	}
	x.State = session.StateError
	if got := x.Commands(); got != nil {
		t.Errorf("where there is nothing to look at: %q", got)
	}
}

var at = time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.UTC)

const data = "/home/ada/shop/.agentform"

func ago(d time.Duration) time.Time { return at.Add(-d) }

// spec is a session as a manifest would have it.
func spec(a session.Address, branch string) session.Spec {
	return session.Spec{
		Address: a, Role: "builder", Desired: session.Running,
		Labels: map[string]string{"team": "shop"},
		Agent: session.AgentSpec{Name: "claude", Base: "claude", Command: []string{"claude"}, PromptVia: "argument",
			Observable: "at_first_prompt"},
		Prompt: session.PromptOf("Build the " + a.Block() + ".\nThen say so.\n"), Branch: branch,
		Workspace: session.Workspace{Mode: session.Worktree, Repo: "/home/ada/shop", OnDestroy: session.Keep,
			Path: data + "/workspaces/" + a.Slug() + "/" + session.Slug(branch)},
		Runtime: session.RuntimeSpec{Kind: "tmux"},
		Restart: session.Restart{Policy: "on-failure", Attempts: 5, Window: session.Duration(15 * time.Minute)},
		Stop:    session.Stop{Signal: "SIGTERM", Grace: session.Duration(10 * time.Second)},
	}
}

// record is a session as it stands on record after its second start.
func record(a session.Address, branch string) *session.Record {
	s := spec(a, branch)
	return &session.Record{
		ID: a.Slug() + "-1f2e3d4c", Address: a, Origin: session.FromManifest, Spec: s,
		Location: session.Location{Runtime: "tmux", Socket: "/run/user/1000/agentform/0a1b2c3d/tmux-0", Name: a.OutsideName("shop"), Pane: "%4"},
		Run: session.Run{ID: "00112233445566aa", Number: 2, StartedAt: ago(125 * time.Minute), BootID: "b0",
			Agent: session.Process{PID: 4242, Start: 990}, PromptSHA: s.Prompt.Digest, DeliveredAt: ago(124 * time.Minute),
			Conversation: "6d1f0a52-8d0e-4f7e-9c58-1b2a3c4d5e6f"},
		Tree:      session.WorkspaceState{Path: s.Workspace.Path, Mode: s.Workspace.Mode, Repo: s.Workspace.Repo, Branch: branch, Created: true, Made: true, Ready: true},
		CreatedAt: ago(26 * time.Hour), UpdatedAt: ago(125 * time.Minute),
	}
}

func wanted(s session.Spec) *session.Spec { return &s }

// What keeps an approved start from happening is said of it, and of one that was stopped
// only that.
func TestStuckStartIsSaid(t *testing.T) {
	dead := false
	for _, c := range []struct {
		change plan.Change
		want   string
	}{
		{plan.Change{Action: plan.None, Reason: plan.ReasonBranchHeld, State: session.StatePending, Detail: "branch is checked out elsewhere"}, "branch is checked out elsewhere"},
		{plan.Change{Action: plan.None, Reason: plan.ReasonStop, State: session.StateStopped, Detail: "stopped by ada"}, "approved"},
		{plan.Change{Action: plan.Hold, Reason: plan.ReasonQueued, State: session.StatePending, Detail: "queued: 1 of 1"}, "queued: 1 of 1"},
		{plan.Change{Action: plan.Create, State: session.StatePending}, "approved"},
	} {
		k := Input{Record: &session.Record{Address: "session.api", Intent: session.Queued},
			Diagnosis: plan.Diagnosis{State: session.StatePending, Alive: &dead, Detail: "approved"}}
		c.change.Before = k.Record
		k.Hold(c.change)
		if got := Of(k).Detail; got != c.want {
			t.Errorf("%s %s: it says %q, want %q", c.change.Action, c.change.Reason, got, c.want)
		}
	}
}

func TestVerifiedOf(t *testing.T) {
	of := func(v session.Verified) string {
		r := session.Record{Verified: &v}
		r.Spec.Verify.Rounds = 3
		return VerifiedOf(r).Word
	}
	if got := of(session.Verified{OK: true}) + ", " + of(session.Verified{Round: 2}) + ", " + of(session.Verified{}); got != "verified, red 2/3, red" {
		t.Error(got)
	}
	if VerifiedOf(session.Record{}) != nil {
		t.Error("a session without a verification has one")
	}
}
