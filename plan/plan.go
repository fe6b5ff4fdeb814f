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
	// Wanted is what sessions are wanted to be: a manifest's, in a person's plan
	// and apply; the recorded ones, under the supervisor and for commands by
	// hand.
	Wanted  []session.Spec
	Records []session.Record
	World   session.World
	// ByHand says that Wanted comes from the records: overrides are honoured,
	// nothing is created that is not on record and nothing is deleted for being
	// absent.
	ByHand  bool
	Options Options
	// Doing is what the agents of recorded sessions do, as far as somebody asked.
	Doing map[session.Address]session.Doing
	// Hub is what the supervisor knows besides, when it is the one who plans; nil:
	// a person does. With it goes ByHand.
	Hub *Hub

	// What the manifest says about addresses.
	Moves   []Move
	Removed []Removal
	Imports []Import
}

// Move says that what is on record under one address is the session that is now
// declared under another. Both name an instance, or both a block, and then mean
// its instances.
type Move struct{ From, To session.Address }

// Removal says what becomes of a session that the manifest has no longer.
type Removal struct {
	From    session.Address
	Destroy bool // false: it is left alive and taken off the record
}

// Import says that a session which is live already, and not ours, is to be
// taken over under an address. What stands under the ID is in World.Found.
type Import struct {
	To session.Address
	ID string // tmux:SOCKET/SESSION
}

// Options are what a person asks of one plan.
type Options struct {
	Destroy     bool
	RefreshOnly bool
	Targets     []session.Address // only these, and what they depend on
	Exclude     []session.Address // not these, nor what depends on them
	Replace     []session.Address // these anew, whatever their state
	Restart     []session.Address // these again, whatever their state
	Fresh       []session.Address // when they start again, with a fresh conversation
	MaxRunning  int               // agents alive at once; 0: no limit
}

// Plan is what is to be done.
type Plan struct {
	Project  string
	Lineage  string
	Serial   uint64
	At       time.Time
	Complete bool // false: something could not be looked at
	Options  Options
	Moves    []Move
	Removed  []Removal
	Imports  []Import
	// Changes has one entry for each session that is wanted or on record, in the
	// order of addresses; Action None says that nothing is to be done with it.
	Changes  []Change
	Drift    []Drift // what was found live to differ from what is on record
	Problems []session.Diagnostic
}

// Change is what is to be done with one session.
type Change struct {
	Address session.Address
	Action  Action
	Then    Action // after adopt: what the adopted session needs besides
	Reason  Reason
	Detail  string         // for people: the reason in words
	Remedy  session.Remedy `json:"-"`
	Fields  []Field
	Until   time.Time // of a hold, when it is known
	Holds   Action    `json:",omitempty"` // of a hold: what it holds back
	// Skips says of a hold for a dependency that nothing is waited for: that is in
	// error, or ended without reaching what was waited for.
	Skips bool `json:",omitempty"`
	// Approved says of a held start that someone approved it: it is put on record, so
	// that it happens as soon as it can.
	Approved bool              `json:"-"`
	Before   *session.Record   // as recorded; nil: nothing is
	After    *session.Spec     // as wanted; nil: it is not
	Live     *session.Live     // as seen; nil: nothing was
	State    session.State     // as diagnosed
	Moved    session.Address   // the address it is on record under, if that is another
	Import   string            // of an adopt: the id of what is taken over
	Fresh    bool              // the agent's conversation starts anew
	Lifts    *session.Override // a person's override that this ends
	// Interrupts is what the agent is in the midst of that the change ends; nil:
	// nothing, or that is not known.
	Interrupts *session.Doing `json:",omitempty"`
	// TurnLimit is for how long that turn is let end first; 0: not at all.
	TurnLimit session.Duration `json:",omitempty"`
	// Restarts is how the session's restart budget was judged: of one whose agent is
	// gone or is to be ended, under the hub; nil: it was not.
	Restarts *health.Verdict `json:",omitempty"`
	// Keeps is the work in the workspace of a session that is destroyed, for people:
	// the workspace is kept for it. Empty: none, or nobody looked.
	Keeps string `json:"-"`
}

// Field is one attribute that changes. Sensitive values are left out.
type Field struct {
	Path      string `json:"path"`
	Before    any    `json:"before"`
	After     any    `json:"after"`
	Forces    Forces `json:"forces"`
	Sensitive bool   `json:"sensitive,omitempty"`
}

// DriftKind says how the live world differs from the record.
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

// Drift is one difference between the live world and the record.
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
	ReasonNew            Reason = "not_recorded"
	ReasonInterrupted    Reason = "interrupted"
	ReasonUnderWay       Reason = "under_way" // another command is at work on it
	ReasonAdopt          Reason = "ours_unrecorded"
	ReasonInSync         Reason = "in_sync"
	ReasonRefreshOnly    Reason = "refresh_only"
	ReasonUnreadable     Reason = "workspace_unreadable"
	ReasonLastError      Reason = "last_action_failed"
	ReasonMoved          Reason = "moved"
	ReasonRemoved        Reason = "removed"
	ReasonImport         Reason = "import"
	ReasonFinished       Reason = "finished"
	ReasonStale          Reason = "stale"
	ReasonGone           Reason = "gone"
	ReasonExited         Reason = "exited"
	ReasonFailed         Reason = "failed"
	ReasonTimeout        Reason = "timeout"
	ReasonRebooted       Reason = "host_rebooted"
	ReasonChanged        Reason = "spec_changed"
	ReasonPromptChanged  Reason = "prompt_changed"
	ReasonBranchChanged  Reason = "branch_changed"
	ReasonPause          Reason = "desired_paused"
	ReasonStop           Reason = "desired_stopped"
	ReasonResume         Reason = "desired_running"
	ReasonOverride       Reason = "override_lifted"
	ReasonOverridden     Reason = "overridden_by_hand"
	ReasonRequested      Reason = "requested"
	ReasonReplaceTrigger Reason = "replace_triggered"
	ReasonNotWanted      Reason = "not_in_manifest"
	ReasonDestroy        Reason = "destroy"
	ReasonForget         Reason = "nothing_left"
	ReasonQueued         Reason = "queued"
	ReasonDependency     Reason = "dependency_not_ready"
	// ReasonDependencyFailed: what it depends on does not come to what is waited for.
	ReasonDependencyFailed Reason = "dependency_failed"
	ReasonUnreachable      Reason = "runtime_unreachable"
	ReasonElsewhere        Reason = "other_owner" // another host, user or data directory has it
	ReasonBranchMismatch   Reason = "branch_mismatch"
	ReasonBranchHeld       Reason = "branch_held"
	ReasonWorkspaceGone    Reason = "workspace_gone"
	ReasonPathOccupied     Reason = "path_occupied"
	ReasonShared           Reason = "directory_shared"
	ReasonNameTaken        Reason = "name_taken"
	ReasonAmbiguous        Reason = "two_live_objects"
	ReasonNoShim           Reason = "no_guest" // in the adopted container nothing can be started; the value is of before a rename
	ReasonPreventDestroy   Reason = "prevent_destroy"
	ReasonNotTargeted      Reason = "not_targeted"
	ReasonUnobserved       Reason = "unobserved"
	ReasonBlockedByError   Reason = "error"
	ReasonUnhealthy        Reason = "unhealthy"
	ReasonPolicy           Reason = "restart_policy"
	ReasonBackingOff       Reason = "backing_off"
	ReasonBudgetSpent      Reason = "budget_spent"
	ReasonSecret           Reason = "secret_unavailable"
	ReasonBlockedAPI       Reason = "blocked_api"
	ReasonLimitOver        Reason = "limit_over"
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
