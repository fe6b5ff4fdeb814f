package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/follow"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// TestForPeople checks what states mean to people: the tone of the word, why, what to do, and what
// makes sense to do.
func TestForPeople(t *testing.T) {
	at := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	yes, no, first := true, false, 1
	live := func(a session.Activity) api.Session {
		return api.Session{State: session.StateRunning, Activity: a, Alive: &yes}
	}
	with := func(x api.Session, change func(*api.Session)) api.Session { change(&x); return x }
	gone := func(s session.State, a session.Activity) api.Session {
		return api.Session{State: s, Activity: a, Alive: &no, Exit: &session.Exit{Code: 3}}
	}
	running := []api.Action{"send", "restart", "pause", "stop"}
	for name, c := range map[string]struct {
		x       api.Session
		word    string
		tone    api.Tone
		why     string
		remedy  string
		actions []api.Action
	}{
		"works": {live(session.Working), "working", api.Active, "", "", running},
		"rests": {live(session.Idle), "idle", api.Calm, "", "", running},
		"asks": {with(live(session.Blocked), func(x *api.Session) { x.Detail, x.Question = "run it?", &session.Question{Text: "run it?"} }), "asks", api.Attention,
			"asks: run it?", "answer: to answer it: agentform answer api ANSWER", []api.Action{"answer", "restart", "pause", "stop"}},
		"asks what is not known": {live(session.Blocked), "asks", api.Attention, "", "answer: to see what it asks: agentform attach api", []api.Action{"answer", "restart", "pause", "stop"}},
		"exited":                 {gone(session.StateStale, session.Exited), "exited", api.Attention, "", "restart-session: to restart it: agentform restart api", []api.Action{"restart-session"}},
		"is started again": {with(gone(session.StateStale, session.Exited), func(x *api.Session) { x.Budget = &api.Budget{Reason: "backing_off", Until: &at} }), "exited", api.Attention, "",
			"restart-session: to restart it: agentform restart api", []api.Action{"restart-session", "stop"}},
		"failed": {gone(session.StateStopped, session.Failed), "failed", api.Broken, "", "start: to restart it: agentform restart api", []api.Action{"start"}},
		"stopped by someone": {with(gone(session.StateStopped, session.Exited), func(x *api.Session) { x.Override = &session.Override{Desired: session.Stopped, By: "ada", At: at} }), "stopped", api.Over,
			"stopped by ada at 2026-03-14T09:00:00Z", "", []api.Action{"start"}},
		"done":     {gone(session.StateStopped, session.Done), "done", api.Over, "", "", []api.Action{"start"}},
		"paused":   {with(live(session.Idle), func(x *api.Session) { x.State = session.StatePaused }), "paused", api.Calm, "", "", []api.Action{"restart", "resume", "stop"}},
		"waits":    {api.Session{State: session.StatePending, Alive: &no, Queue: &first}, "queued", api.Calm, "", "", []api.Action{"start", "stop"}},
		"declared": {api.Session{State: session.StatePending, Alive: &no, Name: "new"}, "pending", api.Calm, "", "", []api.Action{}},
		"held by a budget": {with(live(session.Idle), func(x *api.Session) {
			x.State, x.OverBudget = session.StatePaused, &session.OverBudget{Budget: "day", Until: at}
		}), "paused", api.Calm, "until 2026-03-14T09:00:00Z", "start: to let it go on, and spend as much again: agentform start --ignore-budget api", []api.Action{"start", "stop"}},
		"on another branch": {with(live(session.Working), func(x *api.Session) {
			x.BranchOK, x.BranchLive, x.BranchFault, x.BranchReason = &no, "main", "is on main", plan.ReasonBranchMismatch
		}), "wrong branch", api.Broken,
			"is on main", ": to fix it: git -C /ws switch agents/api", running},
		"red":       {with(live(session.Idle), func(x *api.Session) { x.Verified = &api.Verified{Held: true} }), "red", api.Broken, "", "send: to tell its agent how to continue: agentform send api TEXT", running},
		"unknown":   {api.Session{State: session.StateUnknown}, "unknown", api.Attention, "", ": agentform doctor api shows why and what to do", []api.Action{}},
		"elsewhere": {api.Session{State: session.StateUnknown, Host: "mars"}, "unknown", api.Attention, "", "", []api.Action{}},
		"timed out": {with(gone(session.StateStopped, session.Exited), func(x *api.Session) { x.Needs = &api.Need{Reason: string(follow.NeedsTime)} }), "timed out", api.Attention,
			"", "start: to restart it: agentform restart api", []api.Action{"start"}},
	} {
		c.x.Address, c.x.Branch, c.x.Workspace = "session.api", "agents/api", "/ws"
		if c.x.Name != "new" {
			c.x.ID = "api-1"
		}
		x := forPeople(c.x, session.Spec{Runtime: session.RuntimeSpec{Kind: "tmux"}})
		remedy := ""
		if x.Remedy != nil {
			remedy = string(x.Remedy.Action) + ": " + x.Remedy.Text
		}
		if x.Remedy != nil && x.Remedy.Command != "" && !strings.HasSuffix(x.Remedy.Text, ": "+x.Remedy.Command) {
			t.Errorf("%s: the command is %q", name, x.Remedy.Command)
		}
		if want := name == "on another branch"; x.Remedy != nil && (x.Remedy.Command == "git -C /ws switch agents/api") != want {
			t.Errorf("%s: the command is %q", name, x.Remedy.Command)
		}
		if x.Word != c.word || x.Tone != c.tone || x.Why != c.why || remedy != c.remedy || !slices.Equal(x.Actions, c.actions) {
			t.Errorf("%s: %s, %s, %q, %q, %v", name, x.Word, x.Tone, x.Why, remedy, x.Actions)
		}
	}
}

// TestKept checks what is said of a turn, a conversation and files before an agent is ended.
func TestKept(t *testing.T) {
	yes := true
	x := api.Session{ID: "api-1", Alive: &yes, Activity: session.Working, ConversationID: "c"}
	if got, want := kept(x, true), "Its turn is cut off. Its conversation is kept, and resumed when its agent is started. Its files stay in its workspace, also what is not committed."; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := kept(x, false), "Its turn is cut off. A new conversation begins when its agent is started (restart.resume). Its files stay in its workspace, also what is not committed."; got != want {
		t.Errorf("got %s", got)
	}
	x.Activity, x.ConversationID = session.Idle, ""
	if got, want := kept(x, true), "It has no conversation to resume. Its files stay in its workspace, also what is not committed."; got != want {
		t.Errorf("got %s", got)
	}
	if got := kept(api.Session{}, true); got != "" {
		t.Errorf("declared: %s", got)
	}
}
