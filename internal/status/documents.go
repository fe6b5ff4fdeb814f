package status

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// DocumentOf returns the document of sessions, in the order given.
func DocumentOf(sessions []api.Session, places api.Places, supervisor api.Supervisor) api.StatusDocument {
	return api.StatusDocument{Format: api.FormatVersion, Sessions: wire.List(sessions), Counts: Counts(sessions),
		WrongBranch: WrongBranches(sessions), Places: places, Supervisor: supervisor}
}

// WrongBranch reports whether a session with an agent, now or soon, that could commit
// has its workspace on another branch.
func WrongBranch(s api.Session) bool {
	return s.BranchReason == plan.ReasonBranchMismatch &&
		slices.Contains([]session.State{session.StatePending, session.StateStarting, session.StateRunning, session.StatePaused}, s.State)
}

func WrongBranches(sessions []api.Session) (n int) {
	for _, x := range sessions {
		if WrongBranch(x) {
			n++
		}
	}
	return n
}

func Counts(sessions []api.Session) map[session.State]int {
	counts := map[session.State]int{}
	for _, x := range sessions {
		counts[x.State]++
	}
	return counts
}

// PlanOf returns the document of a plan by a version of agentform.
func PlanOf(p plan.Plan, version string) api.PlanDocument {
	d := api.PlanDocument{
		Format: api.FormatVersion, Version: version, Timestamp: wire.UTC(p.At),
		Project: p.Project, Lineage: p.Lineage, Serial: p.Serial, Complete: p.Complete,
		Errored: session.HasErrors(p.Problems), Drift: wire.List(p.Drift), Summary: p.Summary(), Changes: []api.Change{},
	}
	d.Errors, d.Warnings = Severities(p.Problems)
	for _, c := range p.Changes {
		d.Changes = append(d.Changes, ChangeOf(c))
	}
	return d
}

// Severities separates errors from warnings. Neither is nil.
func Severities(all []session.Diagnostic) (errs, warnings []session.Diagnostic) {
	errs, warnings = []session.Diagnostic{}, []session.Diagnostic{}
	for _, d := range all {
		if d.Severity == session.Error {
			errs = append(errs, d)
		} else {
			warnings = append(warnings, d)
		}
	}
	return errs, warnings
}

func ChangeOf(c plan.Change) api.Change {
	x := api.Change{Address: c.Address, Action: c.Action, Reason: c.Reason, Detail: c.Detail, Fields: []api.Field{},
		Moved: c.Moved, Import: c.Import, Sends: c.Sends}
	if c.Action == plan.Hold {
		x.Until = wire.UTCOrNil(c.Until)
	}
	if d := c.Interrupts; d != nil {
		x.Interrupts = &api.Interrupted{Activity: d.Activity, Since: wire.UTCOrNil(d.Since), AfterTurn: c.TurnLimit.D().Seconds()}
	}
	for _, f := range c.Fields {
		y := api.Field{Path: f.Path, Forces: f.Forces, Sensitive: f.Sensitive}
		if !f.Sensitive {
			y.Before, y.After = f.Before, f.After
		}
		x.Fields = append(x.Fields, y)
	}
	return x
}

// LastEntries returns the last entries that fit into a tail, at most most (0: all), and
// whether it left any out.
func LastEntries(entries []session.Entry, most int) (last []session.Entry, cut bool) {
	size, from := 0, len(entries)
	for from > 0 && (most == 0 || len(entries)-from < most) {
		b, err := json.Marshal(entries[from-1])
		if size += len(b) + 1; err != nil || size > session.TailLimit {
			break
		}
		from--
	}
	last = append([]session.Entry{}, entries[from:]...)
	for i := range last {
		last[i].At = wire.UTC(last[i].At)
	}
	return last, from > 0
}

// Detail is one session in full, for show.
type Detail struct {
	api.Session
	Record *session.Record // nil: not on record
	Events []history.Event // the last ones, oldest first
	Screen string          // its end
}

func (x Detail) Document() api.ShownDocument {
	d := api.ShownDocument{Format: api.FormatVersion, Session: x.Session, Events: []api.EventRecord{}, Look: wire.List(x.Commands())}
	for _, e := range x.Events {
		d.Events = append(d.Events, EventOf(e))
	}
	d.Timeline = TimelineOf(x.Events)
	if x.Record != nil {
		d.Run, d.Location = &x.Record.Run, &x.Record.Location
	}
	d.Screen.Text, d.Screen.Truncated = wire.Tail(x.Screen)
	return d
}

// Commands returns commands that show a session without agentform.
func (x Detail) Commands() []string {
	if x.Record == nil || x.Record.Location.Name == "" || x.State == session.StateStopped || x.State == session.StateError {
		return nil
	}
	place := x.Record.Location
	prefix := "tmux"
	enter := place.Traits().Enter
	if enter != "" {
		prefix = place.CommandLine(enter, plaintext.ShellWord) + " tmux"
		if rest, is := strings.CutPrefix(prefix, "docker "); is {
			prefix = plaintext.ShellWords(x.Record.Spec.Runtime.Docker.Client()...) + " " + rest
		}
	}
	if place.Socket != "" {
		prefix += " -S " + plaintext.ShellWord(place.Socket)
	}
	if enter != "" && place.Socket == "" {
		// Adopted: the container's tmux has one session, with a name of its own.
		return []string{prefix + " attach", prefix + " capture-pane -p"}
	}
	return []string{prefix + " attach -t " + plaintext.ShellWord("="+place.Name),
		prefix + " capture-pane -p -t " + plaintext.ShellWord("="+place.Name+":")}
}
