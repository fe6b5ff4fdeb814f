package plan

import (
	"time"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/session"
)

// Input is all that a decision is made from.
type Input struct {
	Now     time.Time
	Project string
	Lineage string // of the state file: the project's identity in marks
	Serial  uint64 // of the state file
	// Wanted are a manifest's specs, or, with ByHand, the recorded ones.
	Wanted  []session.Spec
	Records []session.Record
	World   session.World
	// ByHand respects overrides, creates only what is recorded, and deletes nothing for
	// being absent.
	ByHand  bool
	Options Options
	// Doing is what the agents of recorded sessions do, as far as it was asked.
	Doing map[session.Address]session.Doing
	Hub   *Hub // with ByHand; nil: a person plans

	// The manifest's blocks about addresses.
	Moves   []Move
	Removed []Removal
	Imports []Import
}

// Move gives a recorded session another address. Both addresses name an instance, or
// both a block with its instances.
type Move struct{ From, To session.Address }

// Removal describes the end of a session that the manifest no longer has.
type Removal struct {
	From    session.Address
	Destroy bool // false: it keeps running and is removed from the state
}

// Import takes over a running session that agentform did not start. World.Found has it.
type Import struct {
	To session.Address
	ID string // tmux:SOCKET/SESSION
}

// Options are a user's request for one plan.
type Options struct {
	Destroy     bool
	RefreshOnly bool
	Targets     []session.Address // only these, and what they depend on
	Exclude     []session.Address // not these, nor what depends on them
	Replace     []session.Address // recreate these, whatever their state
	Restart     []session.Address // restart these, whatever their state
	Fresh       []session.Address // these start with a new conversation
	MaxRunning  int               // agents alive at once; 0: no limit
	// RemoveClean removes the workspaces of destroyed sessions in which nothing would be lost,
	// also where on_destroy is keep.
	RemoveClean bool
	// KeepLanded leaves the records of destroyed sessions whose work was landed: they stay done.
	KeepLanded bool
	// IgnoreBudget lets the budgets of sessions that are held by one start over.
	IgnoreBudget bool
}

// Plan is the changes to make.
type Plan struct {
	Project  string
	Lineage  string
	Serial   uint64
	At       time.Time
	Complete bool // something could not be inspected
	Options  Options
	Moves    []Move
	Removed  []Removal
	Imports  []Import
	Changes  []Change // of each session that is wanted or recorded, in the order of addresses
	Drift    []Drift
	Problems []session.Diagnostic
	Running  int `json:"-"` // agents that take a place of max_running before the plan starts any
}

// Change is the change of one session.
type Change struct {
	Address session.Address
	Action  Action
	Then    Action // after Adopt: what the adopted session needs besides
	Reason  Reason
	Detail  string         // for people: the reason in words
	Remedy  session.Remedy `json:"-"`
	Fields  []Field
	Until   time.Time // of a hold, when it is known
	Holds   Action    `json:",omitempty"` // of a hold: what it holds back
	Place   int       `json:"-"`          // of a hold for max_running: its place, from 1, among those that wait
	// Skips marks a hold for a dependency that waiting cannot fulfil.
	Skips bool `json:",omitempty"`
	// Approved marks a held start that was approved, and so is recorded.
	Approved bool              `json:"-"`
	Before   *session.Record   // nil: it is not recorded
	After    *session.Spec     // nil: it is not wanted
	Live     *session.Live     // nil: it was not seen
	State    session.State     // as diagnosed
	Moved    session.Address   // the address it is recorded under, if that is another
	Import   string            // of Adopt: the id of what is taken over
	Fresh    bool              // the agent starts a new conversation
	Sends    bool              `json:",omitempty"` // the prompt is typed into the running conversation
	Lifts    *session.Override // a person's override that this ends
	// IgnoresBudget is the hold that this ends: the session's budgets start over.
	IgnoresBudget *session.OverBudget `json:",omitempty"`
	// Finishes is what the session has reached, by which it is done: its agent is ended.
	Finishes *session.Finished `json:",omitempty"`
	// Fallback is the other agent that continues the work, which After has.
	Fallback   *session.Fallback `json:",omitempty"`
	Interrupts *session.Doing    `json:",omitempty"` // the work that this ends, if any is known
	TurnLimit  session.Duration  `json:",omitempty"` // of the wait for the end of the turn; 0: none
	Restarts   *health.Verdict   `json:",omitempty"` // on the restart budget, under the hub
	Keeps      string            `json:"-"`          // the work for which a destroyed session's workspace is kept
}

// Field is one attribute that changes. Sensitive values are left out.
type Field struct {
	Path      string `json:"path"`
	Before    any    `json:"before"`
	After     any    `json:"after"`
	Forces    Forces `json:"forces"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// DriftKind is how a live session differs from its record.
type DriftKind string

// The kinds of drift.
const (
	Missing        DriftKind = "missing"
	Exited         DriftKind = "exited"
	Failed         DriftKind = "failed"
	Stale          DriftKind = "stale"
	BranchMismatch DriftKind = "branch_mismatch"
	Orphaned       DriftKind = "orphaned"
	Changed        DriftKind = "changed"
	Unreachable    DriftKind = "unreachable"
)

// Drift is one difference between a live session and its record.
type Drift struct {
	Address session.Address `json:"address"`
	Kind    DriftKind       `json:"kind"`
	Detail  string          `json:"detail"`
	Remedy  session.Remedy  `json:"-"`
}

// Reason is why a change is planned, as a code that programs can rely on.
type Reason string

// The reasons.
const (
	ReasonNew              Reason = "not_recorded"
	ReasonInterrupted      Reason = "interrupted"
	ReasonUnderWay         Reason = "under_way" // another command is at work on it
	ReasonAdopt            Reason = "ours_unrecorded"
	ReasonInSync           Reason = "in_sync"
	ReasonRefreshOnly      Reason = "refresh_only"
	ReasonUnreadable       Reason = "workspace_unreadable"
	ReasonLastError        Reason = "last_action_failed"
	ReasonMoved            Reason = "moved"
	ReasonRemoved          Reason = "removed"
	ReasonImport           Reason = "import"
	ReasonFinished         Reason = "finished"
	ReasonStale            Reason = "stale"
	ReasonGone             Reason = "gone"
	ReasonExited           Reason = "exited"
	ReasonFailed           Reason = "failed"
	ReasonTimeout          Reason = "timeout"
	ReasonRebooted         Reason = "host_rebooted"
	ReasonChanged          Reason = "spec_changed"
	ReasonEdited           Reason = "edited" // outside of agentform
	ReasonPromptChanged    Reason = "prompt_changed"
	ReasonBranchChanged    Reason = "branch_changed"
	ReasonPause            Reason = "desired_paused"
	ReasonStop             Reason = "desired_stopped"
	ReasonResume           Reason = "desired_running"
	ReasonOverride         Reason = "override_lifted"
	ReasonOverridden       Reason = "overridden_by_hand"
	ReasonRequested        Reason = "requested"
	ReasonReplaceTrigger   Reason = "replace_triggered"
	ReasonNotWanted        Reason = "not_in_manifest"
	ReasonDestroy          Reason = "destroy"
	ReasonForget           Reason = "nothing_left"
	ReasonQueued           Reason = "queued"
	ReasonDependency       Reason = "dependency_not_ready"
	ReasonDependencyFailed Reason = "dependency_failed"
	ReasonUnreachable      Reason = "runtime_unreachable"
	ReasonElsewhere        Reason = "other_owner" // another host, user or data directory has it
	ReasonBranchMismatch   Reason = "branch_mismatch"
	ReasonBranchHeld       Reason = "branch_held"
	ReasonWorkspaceGone    Reason = "workspace_gone"
	ReasonWorkspaceLosing  Reason = "workspace_losing" // it is lost when its place ends
	ReasonPathOccupied     Reason = "path_occupied"
	ReasonShared           Reason = "directory_shared"
	ReasonAgentRuns        Reason = "agent_runs" // one that is not in the state
	ReasonNameTaken        Reason = "name_taken"
	ReasonAmbiguous        Reason = "two_live_objects"
	ReasonNoShim           Reason = "no_shim"
	ReasonPreventDestroy   Reason = "prevent_destroy"
	ReasonNotTargeted      Reason = "not_targeted"
	ReasonUnobserved       Reason = "unobserved"
	ReasonBlockedByError   Reason = "error"
	ReasonUnhealthy        Reason = "unhealthy"
	ReasonPolicy           Reason = "restart_policy"
	ReasonBackingOff       Reason = "backing_off"
	ReasonBudgetSpent      Reason = "budget_spent"
	ReasonOverBudget       Reason = "over_budget"
	ReasonSecret           Reason = "secret_unavailable"
	ReasonBlockedAPI       Reason = "blocked_api"
	ReasonLimitOver        Reason = "limit_over"
	ReasonRefused          Reason = "credential_refused"
	ReasonFallback         Reason = "fallback" // another agent continues the work
)

// Summary counts a plan's changes.
type Summary struct {
	Create  int `json:"create"`
	Update  int `json:"update"`
	Restart int `json:"restart"`
	Replace int `json:"replace"`
	Pause   int `json:"pause"`
	Resume  int `json:"resume"`
	Stop    int `json:"stop"`
	Delete  int `json:"delete"`
	Adopt   int `json:"adopt"`
	Forget  int `json:"forget"`
	Hold    int `json:"hold"`
	None    int `json:"none"`
	Errors  int `json:"errors"`
}
