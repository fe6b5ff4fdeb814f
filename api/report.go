package api

import (
	"time"

	"github.com/agentform/agentform/session"
)

// Report is what became of sessions in a span of time, as a document.
type Report struct {
	Format     string     `json:"format_version"`
	Project    string     `json:"project"`
	Since      time.Time  `json:"since"`
	Until      time.Time  `json:"until"`
	Supervisor Supervisor `json:"supervisor"`
	// Sessions are those that did something in the span, or waited for something.
	Sessions []ReportSession `json:"sessions"`
	// Quiet are the others that are in the state.
	Quiet []session.Address `json:"quiet"`
	// Needs are the sessions that need a person, also quiet ones, in the order of next.
	Needs []ReportNeed `json:"needs"`
	Usage Usage        `json:"usage"` // of all sessions in the span
	// Unknown is what the report lacks, for people; empty: nothing.
	Unknown []string `json:"unknown"`
}

// ReportSession is one session in a report. What is not known or absent is nil.
type ReportSession struct {
	Address   session.Address   `json:"address"`
	Name      string            `json:"name"`
	Agent     string            `json:"agent"`
	Branch    string            `json:"branch"`
	Status    session.Status    `json:"status"` // at the end of the span; empty: it was removed
	Word      string            `json:"word"`   // the same for people, as status shows it: working 3m
	Asked     string            `json:"asked"`  // the first line of its prompt; empty: it has none
	Inputs    int               `json:"inputs"` // texts that it was sent in the span, apart from its prompt
	Changes   *Changes          `json:"changes"`
	Conflicts *[]Conflict       `json:"conflicts"` // null: not known
	Verified  *Verified         `json:"verified"`
	PR        string            `json:"pr_url"`
	Finished  *session.Finished `json:"finished"`
	Landed    *session.Landed   `json:"landed"`
	Removed   *time.Time        `json:"removed_at"` // when it was removed from the state; null: it was not
	Usage     *Usage            `json:"usage"`      // in the span
	Restarts  int               `json:"restarts"`   // of its agent in the span
	Waits     []ReportWait      `json:"waits"`      // in the span, the longest first
}

// ReportWait is for how long a session waited for something in the span of a report. Waits
// of different kinds can overlap.
type ReportWait struct {
	// For is answer, input or pause (a person), limit (the model's provider), place,
	// dependency, budget, restart or secret.
	For     string  `json:"for"`
	Detail  string  `json:"detail"`          // for what, the last time, for people
	Times   int     `json:"times"`           // how often
	Seconds float64 `json:"elapsed_seconds"` // together
	Now     bool    `json:"now"`             // it still waits
}

// ReportNeed is a session that needs a person.
type ReportNeed struct {
	Address session.Address `json:"address"`
	Name    string          `json:"name"`
	Word    string          `json:"word"` // what it is and does, as status shows it
	Need
	Text   string `json:"text"`   // why and since when, at the end of the span: asks for 3m, exited 2h ago
	Detail string `json:"detail"` // why, for people
}
