package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// Input is what a report is made of.
type Input struct {
	Project      string
	Since, Until time.Time // Until is in the zone in which people read times
	Supervisor   api.Supervisor
	Sessions     []Known
	Unread       error // why it is not known what sessions used; nil: it is
}

// Known is what is known of one session.
type Known struct {
	Session api.Session     // its status; the zero value if it was removed from the state
	Events  []history.Event // its whole history
	Prompt  string          // the text of its prompt; empty: it has none, or it is not known
	Used    *usage.Sum      // in the span; nil: not known
}

// Address returns the address of the session, the last if it was removed.
func (k Known) Address() session.Address {
	if k.removed() && len(k.Events) > 0 {
		return k.last().Address
	}
	return k.Session.Address
}

func (k Known) removed() bool { return k.Session.Address == "" }

// last returns the last event of a removed session, which has one.
func (k Known) last() history.Event { return k.Events[len(k.Events)-1] }

// Of returns the report of a span.
//
// Sessions are in the order of agentform status: who reads it in the morning starts with
// those that need somebody, and finds them where status and next have them. Those that were
// removed follow, as they left: nothing can be done about them. A session that did nothing
// is only named, unless it was removed before the span. All that need somebody are in
// Needs, also those that have needed it since before the span.
func Of(in Input) api.Report {
	r := api.Report{Format: api.FormatVersion, Project: in.Project, Since: wire.UTC(in.Since), Until: wire.UTC(in.Until), Supervisor: in.Supervisor,
		Sessions: []api.ReportSession{}, Quiet: []session.Address{}, Needs: []api.ReportNeed{}}
	all := slices.DeleteFunc(slices.Clone(in.Sessions), func(k Known) bool { return k.removed() && len(k.Events) == 0 })
	for i := range all {
		all[i].Events = history.InOrder(all[i].Events)
	}
	slices.SortStableFunc(all, compare)
	var used usage.Sum
	for _, k := range all {
		if k.Used != nil {
			used = used.Plus(*k.Used)
		}
		if x := k.Session; x.Needs != nil {
			r.Needs = append(r.Needs, api.ReportNeed{Address: x.Address, Name: x.Name, Word: status.Text(x, in.Until), Need: *x.Needs, Text: status.NeedText(*x.Needs, in.Until), Detail: detail(x)})
		}
		waits := k.waited(in.Since, in.Until)
		switch active := k.active(in.Since, waits); {
		case active:
			r.Sessions = append(r.Sessions, k.row(in, waits))
		case !k.removed():
			r.Quiet = append(r.Quiet, k.Session.Address)
		}
	}
	r.Usage = status.UsageOf(used)
	r.Unknown = unknown(in, all)
	return r
}

func compare(x, y Known) int {
	switch {
	case x.removed() && y.removed():
		return x.last().Time.Compare(y.last().Time)
	case x.removed():
		return 1
	case y.removed():
		return -1
	}
	return status.Compare(x.Session, y.Session)
}

// detail returns why a session needs attention, as far as its reason lacks it.
func detail(x api.Session) string {
	return strings.Join(slices.DeleteFunc([]string{x.BranchFault, x.Detail}, func(s string) bool { return s == "" || s == string(x.State) }), "; ")
}

// active reports whether a session did something since a time, or waited for something
// other than its next input.
func (k Known) active(since time.Time, waits []api.ReportWait) bool {
	return k.Used != nil && k.Used.Any() ||
		slices.ContainsFunc(waits, func(w api.ReportWait) bool { return w.For != ForInput }) ||
		slices.ContainsFunc(k.Events, func(e history.Event) bool { return !e.Time.Before(since) && does(e.Kind) })
}

// does reports whether an event of a kind is an action by or on a session. The other kinds are
// about viewers.
func does(k history.Kind) bool {
	switch k {
	case history.Discovered, history.ClientAttached, history.ClientDetached, history.Observable, history.Moved, history.ApplyProgress, history.ApplySkipped:
		return false
	}
	return true
}

func (k Known) row(in Input, waits []api.ReportWait) api.ReportSession {
	x := k.Session
	row := api.ReportSession{
		Address: x.Address, Name: x.Name, Agent: x.Agent, Branch: x.Branch, Status: x.Status, Asked: firstLine(k.Prompt),
		Changes: x.Changes, Conflicts: x.Conflicts, Verified: x.Verified, PR: x.PR, Finished: x.Finished, Landed: x.Landed, Waits: waits,
	}
	if k.removed() {
		a := k.Address()
		row.Address, row.Name, row.Word, row.Removed, row.Landed = a, a.Short(), "removed", wire.UTCOrNil(k.last().Time), landed(k.Events)
		if all := activity.Requests(k.Events); len(all) > 0 {
			row.PR = all[len(all)-1]
		}
	} else {
		row.Word = status.Text(x, in.Until)
	}
	if k.Used != nil {
		row.Usage = new(status.UsageOf(*k.Used))
	}
	for _, e := range k.Events {
		switch {
		case e.Time.Before(in.Since):
		case e.Kind == history.Launched && e.Action == string(plan.Restart):
			row.Restarts++
		case e.Kind == history.Sent && !activity.Answers(e) && !activity.Pressed(e) && e.By != history.ByHub:
			row.Inputs++
		}
	}
	return row
}

// landed returns where the work of a removed session is by its history, without the name
// of the base; nil: it was not landed.
func landed(events []history.Event) *session.Landed {
	for _, e := range slices.Backward(events) {
		if e.Kind == history.Landed && e.New != "" { // else it was only pushed
			return &session.Landed{Commit: e.New, From: e.Old, At: wire.UTC(e.Time)}
		}
	}
	return nil
}

// askedLength is how much of a prompt's first line is shown, in characters.
const askedLength = 200

// firstLine returns the first line of a prompt with text, without the marks of a heading.
func firstLine(prompt string) string {
	for line := range strings.Lines(prompt) {
		if line = strings.TrimSpace(strings.TrimLeft(plaintext.OneLine(line), "# ")); line == "" {
			continue
		}
		if text := []rune(line); len(text) > askedLength {
			return string(text[:askedLength-1]) + "…"
		}
		return line
	}
	return ""
}

// unknown returns what a report lacks, for people.
func unknown(in Input, all []Known) []string {
	lacks := []string{}
	if in.Supervisor != api.HubRuns {
		lacks = append(lacks, "No hub is running: without one, ends of turns, limits and restarts are recorded only when a command inspects the sessions.")
	}
	if in.Unread != nil {
		lacks = append(lacks, "It is not known what sessions used: "+in.Unread.Error())
	}
	names := map[string][]string{}
	var reasons []string // in their order
	for _, k := range all {
		if x := k.Session; x.State == session.StateUnknown {
			why := cmp.Or(x.Detail, "cannot be inspected")
			if names[why] == nil {
				reasons = append(reasons, why)
			}
			names[why] = append(names[why], x.Name)
		}
	}
	for _, why := range reasons {
		lacks = append(lacks, fmt.Sprintf("Nothing newer is known of %s: %s", plaintext.List(names[why], "and"), why))
	}
	return lacks
}
