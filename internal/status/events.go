package status

import (
	"cmp"
	"encoding/hex"
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

// EventOf returns the document of an event.
func EventOf(e history.Event) api.EventRecord {
	line := api.EventRecord{Event: e, Text: EventText(e)}
	line.Time = wire.UTC(e.Time)
	line.Excerpt, line.Truncated = wire.Tail(e.Excerpt)
	return line
}

// EventText returns what happened, on one line.
func EventText(e history.Event) string {
	verb, head := VerbOf(plan.Action(e.Action)), KindText(e.Kind)
	e.Detail = strings.TrimPrefix(e.Detail, fmt.Sprintf("%s %s: ", e.Action, e.Address))
	switch e.Kind {
	case history.StatusChanged:
		head, e.Old, e.New = cmp.Or(statusTexts[session.Status(e.New)], e.New), "", ""
	case history.ApplyStart:
		head = verb.Doing
	case history.ApplyProgress:
		head = "still " + verb.Doing
	case history.ApplyComplete:
		head = verb.Done
	case history.ApplyErrored:
		head = verb.Plain + " failed"
	case history.ApplySkipped:
		head = verb.Plain + " skipped"
	}
	e.Action = ""
	return plaintext.OneLine(head + EventWords(e, func(text string) string { return text }))
}

// statusTexts are the statuses that users know by other words.
var statusTexts = map[session.Status]string{
	session.StatusBooting: WordStarting, session.StatusBlocked: WordAsks, session.StatusBlockedAPI: "at a limit",
}

// kindTexts are the kinds that users know by other words.
var kindTexts = map[history.Kind]string{
	history.PromptDelivered: "prompt sent",
	history.IOAttached:      "attached",
	history.Observable:      "session file",
	history.PRDetected:      "pull request",
}

// KindText returns the words for a kind of event.
func KindText(k history.Kind) string {
	return cmp.Or(kindTexts[k], strings.ReplaceAll(string(k), "_", " "))
}

// told are the kinds whose words have Old and New elsewhere.
var told = []history.Kind{history.ApplyStart, history.Held, history.PromptDelivered, history.Observable,
	history.BudgetWarned, history.BudgetExceeded, history.BudgetHeld, history.BudgetIgnored}

// EventWords returns the words that belong behind the kind of an event, with what separates them from it.
// text formats the times in its detail.
func EventWords(e history.Event, text func(string) string) string {
	var words string
	add := func(text string) {
		if text != "" {
			words += " " + text
		}
	}
	if strings.HasPrefix(string(e.Kind), "apply_") { // the other kinds are its steps
		add(e.Action)
	}
	if (e.Old != "" || e.New != "") && !slices.Contains(told, e.Kind) {
		add(strings.TrimSpace(ShortHash(e.Old) + " -> " + ShortHash(e.New)))
	}
	if e.Elapsed > 0 {
		add("after " + plaintext.Elapsed(e.Elapsed.D()))
	}
	if e.By != "" && slices.Contains([]history.Kind{history.OverrideSet, history.OverrideLifted, history.BudgetIgnored, history.Sent, history.Landed, history.Refreshed}, e.Kind) {
		add("by " + e.By)
	}
	reason := strings.ReplaceAll(e.Reason, "_", " ")
	if e.Reason == string(plan.ReasonNew) {
		reason = "new" // next to "create", "not recorded" would be odd
	}
	switch {
	case e.Detail != "":
		words += ": " + text(e.Detail)
	case reason != "":
		words += ": " + reason
	}
	if e.Kind == history.ApplyStart && e.New != "" {
		words += ", " + e.New
	}
	if e.Kind == history.ApplyStart && e.By != "" {
		words += ", by " + e.By
	}
	return words
}

// ShortHash returns the beginning of a text that is a SHA-256 or the id of a commit, and others as they
// are.
func ShortHash(s string) string {
	_, err := hex.DecodeString(s)
	switch {
	case err == nil && len(s) == 64:
		return s[:12]
	case err == nil && len(s) == 40:
		return s[:7]
	}
	return s
}

// Verb is the verb of an action: restart, restarting, restarted.
type Verb struct{ Plain, Doing, Done string }

var verbs = map[plan.Action]Verb{
	plan.Create:  {"create", "creating", "created"},
	plan.Update:  {"update", "updating", "updated"},
	plan.Restart: {"restart", "restarting", "restarted"},
	plan.Replace: {"replace", "replacing", "replaced"},
	plan.Pause:   {"pause", "pausing", "paused"},
	plan.Resume:  {"resume", "resuming", "resumed"},
	plan.Stop:    {"stop", "stopping", "stopped"},
	plan.Delete:  {"destroy", "destroying", "destroyed"},
	plan.Adopt:   {"adopt", "adopting", "adopted"},
	plan.Forget:  {"forget", "forgetting", "forgotten"},
	"start":      {"start", "starting", "started"}, // the command
}

// VerbOf returns the verb of an action.
func VerbOf(a plan.Action) Verb {
	if v, known := verbs[a]; known {
		return v
	}
	return Verb{string(a), string(a), string(a) + " done"}
}
