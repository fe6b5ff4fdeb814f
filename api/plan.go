package api

import (
	"time"

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
	// Interrupts is the turn that the change interrupts.
	Interrupts *Interrupted `json:"interrupts,omitempty"`
}

// Interrupted is a turn that a change interrupts.
type Interrupted struct {
	Activity session.Activity `json:"activity"`
	Since    *time.Time       `json:"since"`
	// AfterTurn is how many seconds the turn may go on first; 0: none.
	AfterTurn float64 `json:"after_turn_seconds"`
}

// Field is one attribute that a change sets. Before and After are nil if it is sensitive.
type Field struct {
	Path      string      `json:"path"`
	Before    any         `json:"before"`
	After     any         `json:"after"`
	Forces    plan.Forces `json:"forces"`
	Sensitive bool        `json:"sensitive"`
}
