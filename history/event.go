package history

import (
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events. A Complete or an Errored follows each Start.
const (
	ApplyStart    Kind = "apply_start"    // New is which of how many restarts by the hub it is: 2 of 3
	ApplyProgress Kind = "apply_progress" // something takes longer than a second
	ApplyComplete Kind = "apply_complete"
	ApplyErrored  Kind = "apply_errored"
	ApplySkipped  Kind = "apply_skipped" // Detail names the dependency, or why

	WorkspaceReady  Kind = "workspace_ready"
	Launched        Kind = "launched"
	Ready           Kind = "ready"
	IOAttached      Kind = "io_attached"
	PromptDelivered Kind = "prompt_delivered"
	RunEnded        Kind = "run_ended"
	TurnInterrupted Kind = "turn_interrupted" // the run ended during a turn; Reason is why
	StatusChanged   Kind = "status_changed"   // Old and New; recorded by whoever sees it first
	FirstTurnDone   Kind = "first_turn_done"  // of the run
	Observable      Kind = "observable"       // the agent's own session file exists: New is its conversation
	PRDetected      Kind = "pr_detected"      // New is its URL; once each
	ClientAttached  Kind = "client_attached"  // a terminal; recorded by whoever sees it first
	ClientDetached  Kind = "client_detached"  // the last one
	BranchMismatch  Kind = "branch_mismatch"
	OverrideSet     Kind = "override_set"
	OverrideLifted  Kind = "override_lifted"
	BudgetIgnored   Kind = "budget_ignored" // New is the budget that held it: its budgets start over
	Sent            Kind = "sent"
	Moved           Kind = "moved"     // to another address: Old and New
	Landed          Kind = "landed"    // Old is the commit of its branch, New that of the base, if that moved
	Refreshed       Kind = "refreshed" // its branch has its base: Old and New are commits of the branch
	Finished        Kind = "finished"  // it is done: Reason is what it has reached, New the commit of its branch
	WorkKept        Kind = "work_kept" // a workspace was not removed, and why
	Verified        Kind = "verified"  // its command succeeded for the commit New

	PRFeedback Kind = "pr_feedback" // its agent was given what is new of its pull request New: Detail

	// VerificationFailed: for the commit New; Reason has the round, Detail is why.
	VerificationFailed Kind = "verification_failed"

	// Events of the hub, each once an episode.
	Discovered     Kind = "discovered"      // at its start: New is the state
	TurnEnded      Kind = "turn_ended"      // its agent waits for input
	Held           Kind = "held"            // a start waits: Reason is why, New the time (RFC 3339), if known
	Unhealthy      Kind = "unhealthy"       // Reason is the diagnosis
	Healthy        Kind = "healthy"         // again
	Escalated      Kind = "escalated"       // a person is needed: Reason is why
	BranchRestored Kind = "branch_restored" // the workspace is on its branch again
	BudgetWarned   Kind = "budget_warned"   // New is a budget that is nearly used up
	BudgetExceeded Kind = "budget_exceeded" // New is a budget that is used up
	BudgetHeld     Kind = "budget_held"     // New is the budget that holds the session now
	BudgetLifted   Kind = "budget_lifted"   // Old is the budget that held the session
)

// Once reports whether each event of the kind counts, since it is not recorded again.
func (k Kind) Once() bool { return k == PRDetected || k == BudgetWarned || k == BudgetExceeded }

// ByHub is the By of events that the hub causes.
const ByHub = "hub"

// Queued is the Reason of a Sent event if the agent was working.
const Queued = "queued"

// CannotVerify is the Reason of an Escalated event if work cannot be verified; Detail is why.
const CannotVerify = "cannot_verify"

// PRHeld is the Reason of an Escalated event if a pull request, New, needs a person; Detail is why.
const PRHeld = "pr_held"

// Event is one thing that happened to one session.
type Event struct {
	Time    time.Time       `json:"time"`
	Address session.Address `json:"address"`
	ID      string          `json:"id,omitempty"`  // of the session
	Run     string          `json:"run,omitempty"` // run id
	Kind    Kind            `json:"type"`
	Action  string          `json:"action,omitempty"` // the plan action it belongs to
	Reason  string          `json:"reason,omitempty"` // snake_case code
	By      string          `json:"by,omitempty"`     // who caused it: a user's name, or "hub"
	Old     string          `json:"old,omitempty"`
	New     string          `json:"new,omitempty"`
	Detail  string          `json:"detail,omitempty"`  // for people
	Excerpt string          `json:"excerpt,omitempty"` // of the screen, at most 48 KiB
	// Question is what a blocked agent asks, with its answers; nil: they are not known.
	Question *session.Question `json:"question,omitempty"`
	Elapsed  session.Duration  `json:"elapsed,omitempty"`
}

// InOrder returns events in the order of time. Several processes write a history, each
// event some time after it happened. Those that are in order already are not copied.
func InOrder(events []Event) []Event {
	byTime := func(x, y Event) int { return x.Time.Compare(y.Time) }
	if slices.IsSortedFunc(events, byTime) {
		return events
	}
	return slices.SortedStableFunc(slices.Values(events), byTime)
}
