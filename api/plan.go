package api

import (
	"time"

	"github.com/agentform/agentform/internal/wire"
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
	Changes   []Change             `json:"changes"`
	Drift     []plan.Drift         `json:"drift"`
	Errors    []session.Diagnostic `json:"errors"`
	Warnings  []session.Diagnostic `json:"warnings"`
	Summary   plan.Summary         `json:"summary"`
}

// PlanOf is the document of a plan. Version is agentform's.
func PlanOf(p plan.Plan, version string) PlanDocument {
	d := PlanDocument{
		Format: FormatVersion, Version: version, Timestamp: wire.UTC(p.At),
		Project: p.Project, Lineage: p.Lineage, Serial: p.Serial, Complete: p.Complete,
		Errored: session.HasErrors(p.Problems), Drift: wire.List(p.Drift), Summary: p.Summary(),
		Changes: []Change{}, Errors: []session.Diagnostic{}, Warnings: []session.Diagnostic{},
	}
	for _, c := range p.Changes {
		d.Changes = append(d.Changes, ChangeOf(c))
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

// Change is one session of a plan document.
type Change struct {
	Address session.Address `json:"address"`
	Action  plan.Action     `json:"action"`
	Reason  plan.Reason     `json:"reason"`
	Detail  string          `json:"detail"`
	Fields  []Field         `json:"fields"`
	Until   *time.Time      `json:"until,omitempty"`
	Moved   session.Address `json:"previous_address,omitempty"`
	Import  string          `json:"import_id,omitempty"`
	// Interrupts is the turn that the change cuts off.
	Interrupts *Interrupted `json:"interrupts,omitempty"`
}

// Interrupted is a turn that a change cuts off.
type Interrupted struct {
	Activity session.Activity `json:"activity"`
	Since    *time.Time       `json:"since"`
	// AfterTurn is for how long the turn is let end first, in seconds; 0: not at all.
	AfterTurn float64 `json:"after_turn_seconds"`
}

// Field is one attribute that a change sets. Before and After of a sensitive one are nil.
type Field struct {
	Path      string      `json:"path"`
	Before    any         `json:"before"`
	After     any         `json:"after"`
	Forces    plan.Forces `json:"forces"`
	Sensitive bool        `json:"sensitive"`
}

// ChangeOf returns a change as plan documents and lines have it.
func ChangeOf(c plan.Change) Change {
	x := Change{Address: c.Address, Action: c.Action, Reason: c.Reason, Detail: c.Detail, Fields: []Field{},
		Moved: c.Moved, Import: c.Import}
	if c.Action == plan.Hold {
		x.Until = wire.UTCOrNil(c.Until)
	}
	if d := c.Interrupts; d != nil {
		x.Interrupts = &Interrupted{d.Activity, wire.UTCOrNil(d.Since), c.TurnLimit.D().Seconds()}
	}
	for _, f := range c.Fields {
		y := Field{Path: f.Path, Forces: f.Forces, Sensitive: f.Sensitive}
		if !f.Sensitive {
			y.Before, y.After = f.Before, f.After
		}
		x.Fields = append(x.Fields, y)
	}
	return x
}
