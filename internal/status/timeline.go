package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// The kinds of events that are parts of an operation before its start, and of what they follow.
var (
	leads   = []history.Kind{history.Held, history.OverrideSet, history.OverrideLifted, history.BudgetIgnored}
	follows = []history.Kind{history.Launched, history.IOAttached, history.Ready, history.PromptDelivered, history.Observable, history.FirstTurnDone, history.Discovered}
)

// TimelineOf returns the entries of a session's timeline: one for each operation, such as a restart with
// its steps, and one for each event that belongs to none. events are in their order.
func TimelineOf(events []history.Event) []api.TimelineEntry {
	all := []api.TimelineEntry{}
	for len(events) > 0 {
		start, n := together(events)
		all = append(all, api.TimelineEntry{Time: wire.UTC(events[start].Time), Text: entryText(events[start:n]), Events: n})
		events = events[n:]
	}
	return all
}

// together returns how many of the first events are one entry, and the index of the one that it is about.
func together(events []history.Event) (about, n int) {
	for about < len(events) && slices.Contains(leads, events[about].Kind) {
		about++
	}
	if about == len(events) || events[about].Kind != history.ApplyStart {
		about = 0
	}
	n = about + 1
	switch e := events[about]; {
	case e.Kind == history.ApplyStart:
		n = ended(events, about)
	case e.Kind == history.Sent && n < len(events) && events[n].Kind == history.StatusChanged && events[n].Old == string(session.StatusBlocked):
		n++ // it was the answer
	}
	for n < len(events) && slices.Contains(follows, events[n].Kind) {
		n++
	}
	return about, n
}

// ended returns the index behind the end of an operation that starts at an index. Of one that has none
// it is behind its last step.
func ended(events []history.Event, start int) int {
	last := start
	for i := start + 1; i < len(events) && events[i].Kind != history.ApplyStart; i++ {
		switch e := events[i]; {
		case e.Kind == history.ApplyComplete || e.Kind == history.ApplyErrored:
			return i + 1
		case e.Action != "":
			last = i
		}
	}
	return last + 1
}

// entryText returns what an entry is about, on one line. events begin with what it is about.
func entryText(events []history.Event) string {
	start := events[0]
	if start.Kind != history.ApplyStart {
		return EventText(start)
	}
	verb, by := VerbOf(plan.Action(start.Action)), ""
	switch start.By {
	case "":
	case history.ByHub:
		by = " by the hub"
	default:
		by = " by " + start.By
	}
	if start.New != "" {
		by += ", " + start.New
	}
	is := func(k history.Kind) *history.Event {
		if i := slices.IndexFunc(events, func(e history.Event) bool { return e.Kind == k }); i >= 0 {
			return &events[i]
		}
		return nil
	}
	text := verb.Done + by
	failed, left := is(history.ApplyErrored), is(history.RunEnded)
	switch {
	case failed != nil:
		text = verb.Plain + by + " failed: " + strings.TrimPrefix(failed.Detail, fmt.Sprintf("%s %s: ", failed.Action, failed.Address))
	case is(history.ApplyComplete) == nil:
		text = verb.Plain + by + " has not ended"
	case slices.Contains([]plan.Reason{plan.ReasonPause, plan.ReasonStop, plan.ReasonResume}, plan.Reason(start.Reason)): // the verb says it
	case left != nil && left.Reason == string(session.CauseSelf) && strings.HasPrefix(left.Detail, "exit status"):
		text += ", after " + left.Detail
	case start.Detail != "":
		text += ": " + start.Detail
	}
	return plaintext.OneLine(text)
}
