package status_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// TestTimeline checks which events are one entry, when it is, and what it says.
func TestTimeline(t *testing.T) {
	t.Parallel()
	event := func(kind history.Kind, set func(*history.Event)) history.Event {
		e := history.Event{Kind: kind, Address: "session.api"}
		if set != nil {
			set(&e)
		}
		return e
	}
	of := func(action, by string, kinds ...history.Kind) (all []history.Event) {
		for _, k := range kinds {
			all = append(all, event(k, func(e *history.Event) { e.Action, e.By = action, by }))
		}
		return all
	}
	plain := func(kinds ...history.Kind) []history.Event { return of("", "", kinds...) }
	detailed := func(detail string, e history.Event) []history.Event {
		e.Detail = detail
		return []history.Event{e}
	}
	with := func(set func(*history.Event), all []history.Event) []history.Event {
		set(&all[0])
		return all
	}
	became := func(old, now session.Status) history.Event {
		return event(history.StatusChanged, func(e *history.Event) { e.Old, e.New = string(old), string(now) })
	}
	join := func(parts ...[]history.Event) (all []history.Event) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	restart := func(detail string) []history.Event {
		return join(
			with(func(e *history.Event) { e.Reason, e.Detail, e.New = "failed", "agent exited ("+detail+")", "2 of 3" }, of("restart", "hub", history.ApplyStart)),
			with(func(e *history.Event) { e.Reason, e.Detail = "self", detail }, of("restart", "hub", history.RunEnded)),
			of("restart", "hub", history.Launched, history.IOAttached, history.ApplyComplete))
	}
	for name, c := range map[string]struct {
		events []history.Event
		want   string // seconds of each entry, its number of events, and its text
	}{
		"nothing": {nil, ""},
		"a start": {
			join(with(func(e *history.Event) { e.Reason = "not_recorded" }, of("create", "ada", history.ApplyStart)),
				of("create", "ada", history.WorkspaceReady, history.Launched, history.IOAttached, history.PromptDelivered, history.ApplyComplete),
				plain(history.Ready, history.Observable, history.FirstTurnDone, history.Discovered, history.TurnEnded)),
			"0 10 created by ada\n10 1 turn ended\n",
		},
		"a restart after a wait": {
			join(detailed("exit status 3", became(session.StatusRunning, session.StatusExited)),
				detailed("backing off, next try 2026-03-14T09:26:53Z (2 of 3)", event(history.Held, nil)), restart("exit status 3"), plain(history.Ready)),
			"0 1 exited: exit status 3\n2 7 restarted by the hub, 2 of 3, after exit status 3\n",
		},
		"a restart of what was killed": {restart("killed by SIGKILL"), "0 5 restarted by the hub, 2 of 3: agent exited (killed by SIGKILL)\n"},
		"a wait that is not over":      {detailed("queued", event(history.Held, nil)), "0 1 held: queued\n"},
		"a pause": {
			join(of("", "ada", history.OverrideSet),
				with(func(e *history.Event) {
					e.Reason, e.Detail = "desired_paused", "paused by ada at 2026-03-14T09:26:53Z"
				}, of("pause", "ada", history.ApplyStart, history.ApplyComplete)),
				of("", "ada", history.OverrideLifted)),
			"1 3 paused by ada\n3 1 override lifted by ada\n",
		},
		"a stop": {
			join(with(func(e *history.Event) { e.Reason = "desired_stopped" }, of("stop", "ada", history.ApplyStart)),
				with(func(e *history.Event) { e.Reason, e.Detail = "self", "exit status 0" }, of("stop", "ada", history.RunEnded)), of("stop", "ada", history.ApplyComplete)),
			"0 3 stopped by ada\n",
		},
		"a restart of what ran": {
			join(with(func(e *history.Event) { e.Detail = "as requested" }, of("restart", "ada", history.ApplyStart)),
				with(func(e *history.Event) { e.Reason, e.Detail = "requested", "exit status 0" }, of("restart", "ada", history.RunEnded)), of("restart", "ada", history.ApplyComplete)),
			"0 3 restarted by ada: as requested\n",
		},
		"an update": {with(func(e *history.Event) { e.Detail = "restart.attempts changed" }, of("update", "ada", history.ApplyStart, history.ApplyComplete)), "0 2 updated by ada: restart.attempts changed\n"},
		"a failure": {
			join(of("create", "ada", history.ApplyStart, history.Launched), detailed("create session.api: no prompt\nafter 30s", of("create", "ada", history.ApplyErrored)[0])),
			"0 3 create by ada failed: no prompt after 30s\n",
		},
		"one that was cut off": {
			join(of("create", "ada", history.ApplyStart, history.Launched), plain(history.TurnEnded), of("restart", "ada", history.ApplyStart, history.ApplyComplete)),
			"0 2 create by ada has not ended\n2 1 turn ended\n3 2 restarted by ada\n",
		},
		"what happens meanwhile":   {join(of("stop", "ada", history.ApplyStart), plain(history.TurnEnded), of("stop", "ada", history.RunEnded, history.ApplyComplete)), "0 4 stopped by ada\n"},
		"an end without its start": {of("create", "ada", history.IOAttached, history.ApplyComplete), "0 1 attached\n1 1 created\n"},
		"an answer": {
			join([]history.Event{became(session.StatusRunning, session.StatusBlocked)}, detailed("answer yes", of("", "ada", history.Sent)[0]), []history.Event{became(session.StatusBlocked, session.StatusRunning)}),
			"0 1 asks\n1 2 sent by ada: answer yes\n",
		},
		"a text": {join(of("", "ada", history.Sent), []history.Event{became(session.StatusRunning, session.StatusBlocked)}), "0 1 sent by ada\n1 1 asks\n"},
	} {
		began := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
		for i := range c.events {
			c.events[i].Time = began.Add(time.Duration(i) * time.Second)
		}
		var got strings.Builder
		covered := 0
		for _, x := range status.TimelineOf(c.events) {
			fmt.Fprintf(&got, "%.0f %d %s\n", x.Time.Sub(began).Seconds(), x.Events, x.Text)
			covered += x.Events
		}
		if d := cmp.Diff(c.want, got.String()); d != "" || covered != len(c.events) {
			t.Errorf("%s: %d of %d events (-want +got)\n%s", name, covered, len(c.events), d)
		}
	}
}
