package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

var (
	until = time.Date(2026, 3, 14, 8, 0, 0, 0, time.UTC)
	since = until.Add(-18 * time.Hour)
)

// at returns an event so many hours after the beginning of the span.
func at(hours float64, k history.Kind) history.Event {
	return history.Event{Time: since.Add(time.Duration(hours * float64(time.Hour))), Address: "session.a", Kind: k}
}

func (b build) with(change func(*history.Event)) history.Event {
	e := history.Event(b)
	change(&e)
	return e
}

type build history.Event

func became(hours float64, s session.Status, detail string) history.Event {
	return build(at(hours, history.StatusChanged)).with(func(e *history.Event) { e.New, e.Detail = string(s), detail })
}

func sent(hours float64, detail string) history.Event {
	return build(at(hours, history.Sent)).with(func(e *history.Event) { e.Detail, e.By = detail, "ada" })
}

func holds(hours float64, reason, detail string) history.Event {
	return build(at(hours, history.Held)).with(func(e *history.Event) { e.Reason, e.Detail = reason, detail })
}

func to(hours float64, k history.Kind, old, now string) history.Event {
	return build(at(hours, k)).with(func(e *history.Event) { e.Old, e.New = old, now })
}

func acts(hours float64, k history.Kind, action string) history.Event {
	return build(at(hours, k)).with(func(e *history.Event) { e.Action = action })
}

const hour = 3600.0

func TestWaits(t *testing.T) {
	for name, c := range map[string]struct {
		events []history.Event
		want   []api.ReportWait
	}{
		"nothing": {nil, []api.ReportWait{}},
		"a question that was answered": {
			[]history.Event{became(1, session.StatusBlocked, "run make?"), sent(3, "answer yes"), became(4, session.StatusRunning, "")},
			[]api.ReportWait{{For: ForAnswer, Detail: "run make?", Times: 1, Seconds: 2 * hour}},
		},
		"a question that was answered at the terminal": {
			[]history.Event{became(1, session.StatusBlocked, "run make?"), became(4, session.StatusRunning, "")},
			[]api.ReportWait{{For: ForAnswer, Detail: "run make?", Times: 1, Seconds: 3 * hour}},
		},
		"a key is not known to answer": {
			[]history.Event{became(1, session.StatusBlocked, "run make?"), sent(2, "key y"), became(4, session.StatusRunning, "")},
			[]api.ReportWait{{For: ForAnswer, Detail: "run make?", Times: 1, Seconds: 3 * hour}},
		},
		"two questions": {
			[]history.Event{became(1, session.StatusBlocked, "a?"), sent(2, "answer yes"), became(3, session.StatusBlocked, "b?"), became(4, session.StatusRunning, "")},
			[]api.ReportWait{{For: ForAnswer, Detail: "b?", Times: 2, Seconds: 2 * hour}},
		},
		"a question from before the span": {
			[]history.Event{became(-5, session.StatusBlocked, "a?"), became(2, session.StatusRunning, "")},
			[]api.ReportWait{{For: ForAnswer, Detail: "a?", Times: 1, Seconds: 2 * hour}},
		},
		"a question that was answered before the span": {
			[]history.Event{became(-5, session.StatusBlocked, "a?"), became(-1, session.StatusRunning, "")},
			[]api.ReportWait{},
		},
		"a question that is open": {
			[]history.Event{became(16, session.StatusBlocked, "a?")},
			[]api.ReportWait{{For: ForAnswer, Detail: "a?", Times: 1, Seconds: 2 * hour, Now: true}},
		},
		"a question of an agent that exited": {
			[]history.Event{became(1, session.StatusBlocked, "a?"), at(2, history.RunEnded), at(3, history.Launched)},
			[]api.ReportWait{{For: ForAnswer, Detail: "a?", Times: 1, Seconds: hour}},
		},
		"a limit, and then a question": {
			[]history.Event{became(1, session.StatusBlockedAPI, "limit"), became(2, session.StatusBlocked, "a?"), became(5, session.StatusRunning, "")},
			[]api.ReportWait{{For: ForAnswer, Detail: "a?", Times: 1, Seconds: 3 * hour}, {For: ForLimit, Detail: "limit", Times: 1, Seconds: hour}},
		},
		"the next input": {
			[]history.Event{at(1, history.TurnEnded), sent(7, "20 bytes"), at(8, history.TurnEnded), at(9, history.Finished)},
			[]api.ReportWait{{For: ForInput, Times: 2, Seconds: 7 * hour}},
		},
		"input that was typed at a terminal": {
			[]history.Event{at(1, history.TurnEnded), at(7, history.TurnEnded), sent(8, "20 bytes")},
			[]api.ReportWait{{For: ForInput, Times: 1, Seconds: hour}},
		},
		"a place, then a dependency": {
			[]history.Event{holds(0, "queued", "queued: 4 of 4"), holds(2, "dependency_not_ready", "waiting for session.b"), at(5, history.ApplyStart), at(5, history.Launched)},
			[]api.ReportWait{{For: ForDependency, Detail: "waiting for session.b", Times: 1, Seconds: 3 * hour}, {For: ForPlace, Detail: "queued: 4 of 4", Times: 1, Seconds: 2 * hour}},
		},
		"a restart, held twice for one exit": {
			[]history.Event{holds(1, "backing_off", "try 1 of 5"), holds(2, "backing_off", "try 2 of 5"), at(3, history.ApplyStart)},
			[]api.ReportWait{{For: ForRestart, Detail: "try 2 of 5", Times: 1, Seconds: 2 * hour}},
		},
		"a secret, and a limit": {
			[]history.Event{holds(1, "secret_unavailable", "TOKEN"), holds(2, "blocked_api", "limit"), at(5, history.ApplyStart), at(5, history.Launched)},
			[]api.ReportWait{{For: ForLimit, Detail: "limit", Times: 1, Seconds: 3 * hour}, {For: ForSecret, Detail: "TOKEN", Times: 1, Seconds: hour}},
		},
		"a hold of another kind": {[]history.Event{holds(1, "runtime_unreachable", "")}, []api.ReportWait{}},
		"a budget": {
			[]history.Event{to(1, history.BudgetHeld, "", "night"), to(4, history.BudgetLifted, "night", "")},
			[]api.ReportWait{{For: ForBudget, Detail: "night", Times: 1, Seconds: 3 * hour}},
		},
		"a pause": {
			[]history.Event{to(1, history.OverrideSet, "", "paused"), to(2, history.OverrideSet, "paused", "stopped"), to(9, history.OverrideLifted, "stopped", "running")},
			[]api.ReportWait{{For: ForPause, Detail: "someone", Times: 1, Seconds: hour}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := Known{Session: api.Session{Address: "session.a"}, Events: c.events}
			if diff := cmp.Diff(c.want, k.waited(since, until)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func known(name string, events ...history.Event) Known {
	a := session.Address("session." + name)
	for i := range events {
		events[i].Address = a
	}
	return Known{Session: api.Session{Address: a, Name: name, State: session.StateRunning, Status: session.StatusRunning, Activity: session.Idle}, Events: events}
}

func needing(k Known, reason, detail string) Known {
	k.Session.Needs, k.Session.Detail = &api.Need{Reason: reason, Since: since.Add(-time.Hour)}, detail
	return k
}

func gone(k Known) Known {
	k.Session = api.Session{}
	return k
}

func names(r api.Report) (sessions, quiet, needs []string) {
	for _, x := range r.Sessions {
		sessions = append(sessions, x.Name)
	}
	for _, a := range r.Quiet {
		quiet = append(quiet, a.Short())
	}
	for _, n := range r.Needs {
		needs = append(needs, n.Name+" "+n.Reason)
	}
	return sessions, quiet, needs
}

// Those that need somebody come first, those that were removed last, and those that did
// nothing have no row.
func TestOrder(t *testing.T) {
	working := known("b", sent(1, "9 bytes"))
	working.Session.Activity = session.Working
	spent := known("spent")
	spent.Used = &usage.Sum{Answers: 1}
	r := Of(Input{Project: "shop", Since: since, Until: until, Supervisor: api.HubRuns, Sessions: []Known{
		gone(known("removed-late", acts(5, history.ApplyComplete, "delete"))),
		gone(known("removed-early", at(-9, history.Launched), acts(1, history.ApplyComplete, "delete"))),
		gone(known("removed-before", acts(-1, history.ApplyComplete, "delete"))),
		gone(known("without-events")),
		known("looked-at", at(1, history.Discovered), at(2, history.ClientAttached), at(-30, history.TurnEnded)),
		working,
		needing(known("idle", at(-30, history.TurnEnded)), "turn_ended", "running"),
		needing(known("done", at(2, history.TurnEnded)), "turn_ended", ""),
		needing(known("asks", became(-30, session.StatusBlocked, "a?")), "blocked", "a?"),
		spent,
	}})
	sessions, quiet, needs := names(r)
	if diff := cmp.Diff([]string{"asks", "done", "b", "spent", "removed-early", "removed-late"}, sessions); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"idle", "looked-at"}, quiet); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"asks blocked", "done turn_ended", "idle turn_ended"}, needs); diff != "" {
		t.Error(diff)
	}
	if r.Needs[0].Detail != "a?" || r.Needs[2].Detail != "" {
		t.Errorf("details: %q", r.Needs)
	}
	if r.Usage.Answers != 1 || len(r.Unknown) != 0 {
		t.Errorf("usage %+v, unknown %q", r.Usage, r.Unknown)
	}
}

func TestRow(t *testing.T) {
	k := known("a", acts(-3, history.Launched, "restart"), acts(1, history.Launched, "create"), acts(2, history.Launched, "restart"), acts(3, history.Launched, "restart"),
		sent(-1, "9 bytes"), sent(4, "9 bytes"), sent(5, "answer yes"), sent(6, "key Enter"), build(sent(7, "99 bytes")).with(func(e *history.Event) { e.By = history.ByHub }))
	k.Prompt = "\n## Add a limit \x1b[31m\nand tests"
	k.Used = &usage.Sum{Answers: 2, Tokens: session.Tokens{Input: 5}, Cost: 1.5}
	k.Session.Verified, k.Session.Changes, k.Session.PR = &api.Verified{OK: true}, &api.Changes{Ahead: 3}, "https://example.com/1"
	k.Session.Conflicts = &[]api.Conflict{{Base: "main"}}
	r := Of(Input{Since: since, Until: until, Sessions: []Known{k}}).Sessions[0]
	if r.Asked != "Add a limit" || r.Restarts != 2 || r.Inputs != 1 || *r.Usage.Cost != 1.5 || !r.Verified.OK || r.Changes.Ahead != 3 || len(*r.Conflicts) != 1 || r.PR == "" || r.Word != "verified" || r.Removed != nil {
		t.Errorf("%+v", r)
	}
	if long := firstLine(strings.Repeat("é", 300)); len([]rune(long)) != askedLength || !strings.HasSuffix(long, "…") {
		t.Errorf("%d characters: %s", len([]rune(long)), long)
	}
}

// A session that was landed and removed has what its history says.
func TestRemoved(t *testing.T) {
	k := gone(known("a", to(1, history.PRDetected, "", "https://example.com/1"), became(2, session.StatusBlocked, "a?"),
		to(3, history.Landed, "c0ffee", "beef00"), to(4, history.Landed, "c0ffee", ""), became(5, session.StatusBlocked, "b?"), at(7, history.RunEnded)))
	k.Events[4], k.Events[5] = k.Events[5], k.Events[4] // several processes write
	r := Of(Input{Since: since, Until: until, Sessions: []Known{k}}).Sessions[0]
	if r.Address != "session.a" || r.Name != "a" || r.Word != "removed" || !r.Removed.Equal(since.Add(7*time.Hour)) || r.PR != "https://example.com/1" || r.Usage != nil {
		t.Errorf("%+v", r)
	}
	if r.Landed == nil || r.Landed.Commit != "beef00" || r.Landed.From != "c0ffee" {
		t.Errorf("landed: %+v", r.Landed)
	}
	if diff := cmp.Diff([]api.ReportWait{{For: ForAnswer, Detail: "b?", Times: 2, Seconds: 3 * hour}}, r.Waits); diff != "" {
		t.Error(diff)
	}
	// One that was taken out of the state waits no longer.
	k = gone(known("a", became(5, session.StatusBlocked, "b?"), at(6, history.TurnEnded)))
	for _, w := range k.waited(since, until) {
		if w.Now || w.For == ForAnswer && w.Seconds != hour {
			t.Errorf("%+v", w)
		}
	}
}

func TestUnknown(t *testing.T) {
	a, b := known("a"), known("b")
	a.Session.State, a.Session.Detail = session.StateUnknown, "docker does not answer"
	b.Session.State, b.Session.Detail = session.StateUnknown, "docker does not answer"
	r := Of(Input{Since: since, Until: until, Supervisor: api.HubDown, Sessions: []Known{b, a, known("c")}, Unread: errors.New("disk")})
	if len(r.Unknown) != 3 || !strings.HasPrefix(r.Unknown[0], "No hub is running") || r.Unknown[1] != "It is not known what sessions used: disk" || r.Unknown[2] != "Nothing newer is known of a and b: docker does not answer" {
		t.Errorf("%q", r.Unknown)
	}
}
