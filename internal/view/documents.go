package view

import (
	"io"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// PlanDocument is a plan as a document.
type PlanDocument struct {
	Format    string               `json:"format_version"`
	Version   string               `json:"agentform_version"`
	Timestamp time.Time            `json:"timestamp"`
	Project   string               `json:"project"`
	Lineage   string               `json:"lineage"`
	Serial    uint64               `json:"serial"`
	Complete  bool                 `json:"complete"`
	Errored   bool                 `json:"errored"`
	Changes   []change             `json:"changes"`
	Drift     []plan.Drift         `json:"drift"`
	Errors    []session.Diagnostic `json:"errors"`
	Warnings  []session.Diagnostic `json:"warnings"`
	Summary   plan.Summary         `json:"summary"`
}

// PlanOf is the document of a plan. Version is agentform's.
func PlanOf(p plan.Plan, version string) PlanDocument {
	d := PlanDocument{
		Format: FormatVersion, Version: version, Timestamp: utc(p.At),
		Project: p.Project, Lineage: p.Lineage, Serial: p.Serial, Complete: p.Complete,
		Errored: session.HasErrors(p.Problems), Drift: list(p.Drift), Summary: p.Summary(),
		Changes: []change{}, Errors: []session.Diagnostic{}, Warnings: []session.Diagnostic{},
	}
	for _, c := range p.Changes {
		d.Changes = append(d.Changes, changeOf(c))
	}
	for _, x := range p.Problems {
		if x.Severity == session.Error {
			d.Errors = append(d.Errors, x)
		} else {
			d.Warnings = append(d.Warnings, x)
		}
	}
	return d
}

// PlanJSON writes a plan as one document. Version is agentform's.
func PlanJSON(w io.Writer, p plan.Plan, version string) error {
	return Document(w, PlanOf(p, version))
}

// change is one session of a plan document.
type change struct {
	Address session.Address `json:"address"`
	Action  plan.Action     `json:"action"`
	Reason  plan.Reason     `json:"reason"`
	Detail  string          `json:"detail"`
	Fields  []field         `json:"fields"`
	Until   *time.Time      `json:"until,omitempty"`
	Moved   session.Address `json:"previous_address,omitempty"`
	Import  string          `json:"import_id,omitempty"`
	// Interrupts is the turn that the change cuts off.
	Interrupts *interrupted `json:"interrupts,omitempty"`
}

// interrupted is a turn that a change cuts off.
type interrupted struct {
	Activity session.Activity `json:"activity"`
	Since    *time.Time       `json:"since"`
	// AfterTurn is for how long the turn is let end first, in seconds; 0: not at all.
	AfterTurn float64 `json:"after_turn_seconds"`
}

type field struct {
	Path      string      `json:"path"`
	Before    any         `json:"before"`
	After     any         `json:"after"`
	Forces    plan.Forces `json:"forces"`
	Sensitive bool        `json:"sensitive"`
}

func changeOf(c plan.Change) change {
	x := change{Address: c.Address, Action: c.Action, Reason: c.Reason, Detail: c.Detail, Fields: []field{},
		Moved: c.Moved, Import: c.Import}
	if c.Action == plan.Hold {
		x.Until = utcOrNull(c.Until)
	}
	if d := c.Interrupts; d != nil {
		x.Interrupts = &interrupted{d.Activity, utcOrNull(d.Since), c.TurnLimit.D().Seconds()}
	}
	for _, f := range c.Fields {
		y := field{Path: f.Path, Forces: f.Forces, Sensitive: f.Sensitive}
		if !f.Sensitive {
			y.Before, y.After = f.Before, f.After
		}
		x.Fields = append(x.Fields, y)
	}
	return x
}

// ValidJSON writes what validate found as one document.
func ValidJSON(w io.Writer, ds []session.Diagnostic) error {
	errs, warnings := severities(ds)
	return Document(w, struct {
		Format      string               `json:"format_version"`
		Valid       bool                 `json:"valid"`
		Errors      int                  `json:"error_count"`
		Warnings    int                  `json:"warning_count"`
		Diagnostics []session.Diagnostic `json:"diagnostics"`
	}{FormatVersion, errs == 0, errs, warnings, list(ds)})
}

// StatusDocument is sessions as a document.
type StatusDocument struct {
	Format   string                `json:"format_version"`
	Sessions []Session             `json:"sessions"`
	Counts   map[session.State]int `json:"counts"`
	// WrongBranch is how many of them run, or are to be started, on another branch.
	WrongBranch int        `json:"wrong_branch"`
	Supervisor  Supervisor `json:"supervisor"`
}

// A Supervisor is what the hub's process does.
type Supervisor string

// A suspended hub was stopped by a signal.
const (
	HubRuns      Supervisor = "running"
	HubSuspended Supervisor = "suspended"
	HubDown      Supervisor = "down"
)

// StatusOf is the document of sessions, in the order given.
func StatusOf(sessions []Session, supervisor Supervisor) StatusDocument {
	return StatusDocument{FormatVersion, list(sessions), Counts(sessions), wrongBranches(sessions), supervisor}
}

// StatusJSON writes sessions as one document, in the order given.
func StatusJSON(w io.Writer, sessions []Session, supervisor Supervisor) error {
	return Document(w, StatusOf(sessions, supervisor))
}

// ShownDocument is one session in full as a document.
type ShownDocument struct {
	Format string `json:"format_version"`
	Session
	Run    *session.Run   `json:"run"`
	Exit   *session.Exit  `json:"exit"`
	Place  *session.Place `json:"place"`
	Look   []string       `json:"look_by_hand"`
	Events []EventRecord  `json:"events"`
	Screen Screen         `json:"screen"`
}

// Screen is the end of a screen in a document.
type Screen struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// ShownOf is the document of one session in full.
func ShownOf(x Shown) ShownDocument {
	d := ShownDocument{Format: FormatVersion, Session: x.Session, Exit: x.Exit, Events: eventLines(x.Events), Look: list(x.lookByHand())}
	if x.Record != nil {
		d.Run, d.Place = &x.Record.Run, &x.Record.Place
	}
	d.Screen.Text, d.Screen.Truncated = Tail(x.Screen)
	return d
}

// ShowJSON writes one session in full as one document.
func ShowJSON(w io.Writer, x Shown) error { return Document(w, ShownOf(x)) }

func eventLines(events []history.Event) []EventRecord {
	lines := make([]EventRecord, 0, len(events))
	for _, e := range events {
		lines = append(lines, EventOf(e))
	}
	return lines
}

// TextJSON writes the end of a session's screen or transcript as one document.
func TextJSON(w io.Writer, a session.Address, text string) error {
	tail, truncated := Tail(text)
	return Document(w, struct {
		Format    string          `json:"format_version"`
		Address   session.Address `json:"address"`
		Text      string          `json:"text"`
		Truncated bool            `json:"truncated"`
	}{FormatVersion, a, tail, truncated})
}
