package session

import (
	"fmt"
	"time"
)

// Origin is how a session came into the state. Only a session from a manifest is destroyed when it
// is removed from the manifest.
type Origin string

// The origins.
const (
	FromManifest Origin = "manifest"
	FromRun      Origin = "run"
	FromAdopt    Origin = "adopt"
)

// Intent is what was about to happen to a session when its record was last saved. It is
// written before acting and cleared after, so that a killed action can be completed.
type Intent string

// The intents. The empty one means that no action is in progress.
const (
	Settled    Intent = ""
	Creating   Intent = "create"
	Restarting Intent = "restart"
	Stopping   Intent = "stop"
	Removing   Intent = "remove"
	Queued     Intent = "queued" // the start of exactly this spec was approved and waits
)

// Record is what the state file keeps of one session.
type Record struct {
	ID       string         `json:"id"` // unique for ever and safe as a file name
	Address  Address        `json:"address"`
	Origin   Origin         `json:"origin"`
	Spec     Spec           `json:"spec"`
	Intent   Intent         `json:"intent,omitempty"`
	Location Location       `json:"place,omitzero"`
	Run      Run            `json:"run,omitzero"`
	Past     []string       `json:"past_runs,omitempty"` // ids of earlier runs whose directories are kept, the newest first
	Owner    Owner          `json:"owner,omitzero"`
	Tree     WorkspaceState `json:"workspace"`
	Override *Override      `json:"override,omitempty"`
	// OverBudget is the hold by a budget; nil: there is none.
	OverBudget *OverBudget `json:"over_budget,omitempty"`
	// BudgetsFrom is when its budgets last started over; zero: never.
	BudgetsFrom time.Time `json:"budgets_from,omitzero"`
	// Finished is the end by Spec.Finish; nil: it is not done.
	Finished *Finished `json:"finished,omitempty"`
	// FinishFrom is when a person last started its agent again: what ended before does not
	// finish it. Zero: never.
	FinishFrom time.Time `json:"finish_from,omitzero"`
	// Landed is how its work came to its base; nil: it has not, or the agent was started since.
	Landed *Landed `json:"landed,omitempty"`
	// Verified is the outcome of its last verification; nil: there was none.
	Verified *Verified `json:"verified,omitempty"`
	// Fallback is the other agent that continues the work, which Spec has, too; nil: there is none.
	Fallback *Fallback `json:"fallback,omitempty"`
	// PR is what is known of the pull request of its branch; nil: nothing.
	PR *PullRequest `json:"pr,omitempty"`
	// Inherits names the secrets that the agent of a queued start inherits. Their values
	// are not recorded.
	Inherits  []string  `json:"inherits,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// LastError is the failure of the last action on the session, for people:
	// "setup: make deps: exit status 2". Empty when it succeeded.
	LastError string `json:"trouble,omitempty"`
}

// Unmade reports whether nothing of the session exists yet: its start was approved and
// waits.
func (r Record) Unmade() bool { return r.Intent == Queued && r.Run.ID == "" }

// HasPrompt reports whether the run was given a prompt, also as a part of what hands over the work.
func (r Record) HasPrompt(digest string) bool {
	return r.Run.PromptSHA == digest || r.Fallback.Hands(digest) && r.Run.PromptSHA == r.Fallback.Prompt
}

// Declared returns the spec as it was declared, with the session's own agent.
func (r Record) Declared() Spec {
	if r.Fallback == nil {
		return r.Spec
	}
	return r.Spec.With(r.Fallback.Instead)
}

// Spent reports whether nothing of the session exists any more but the record that its work
// was landed.
func (r Record) Spent() bool { return r.Landed != nil && r.Run.ID == "" && r.Tree.Path == "" }

// HasBranch reports whether the session has a workspace of git, on a branch.
func (r Record) HasBranch() bool {
	return !r.Unmade() && !r.Spent() && r.Tree.Mode != Plain && r.Tree.Mode != ""
}

// Location is where a session is: a tmux session on a server's socket, or a container. Names are
// hints; the run id in the place's mark is the identity.
type Location struct {
	Runtime   string `json:"runtime,omitempty"` // tmux, docker, scripted
	Socket    string `json:"socket,omitempty"`  // of the tmux server
	Name      string `json:"name,omitempty"`    // tmux session or container name
	Pane      string `json:"pane,omitempty"`    // %42
	Container string `json:"container,omitempty"`
}

// Run is one run of the agent of a session, from its start to its exit.
type Run struct {
	ID           string    `json:"id,omitempty"` // 16 hex digits
	Number       int       `json:"number,omitempty"`
	StartedAt    time.Time `json:"started_at,omitzero"`
	BootID       string    `json:"boot_id,omitempty"`
	Agent        Process   `json:"agent,omitzero"`
	ReadyAt      time.Time `json:"ready_at,omitzero"` // when it was first observed ready for a prompt; zero: never
	EndedAt      time.Time `json:"ended_at,omitzero"` // when its end was reported; zero: it has not ended, or was not observed
	PromptSHA    string    `json:"prompt_sha256,omitempty"`
	DeliveredAt  time.Time `json:"delivered_at,omitzero"` // when the prompt was delivered; zero: not yet
	Conversation string    `json:"conversation,omitempty"`
	Resumed      bool      `json:"resumed,omitempty"` // it was started in a conversation that there was
	// ContinuedAt is when the agent was about to be sent "continue", after a quota had reset;
	// zero: never.
	ContinuedAt time.Time `json:"continued_at,omitzero"`
	// Credential is what the agent was started with; zero: not known.
	Credential Credential `json:"credential,omitzero"`
}

// Credential is what an agent uses with its model's provider, whose limits are those of the
// credential. Runs with the same ID share them.
type Credential struct {
	ID   string `json:"id"`   // a digest, which reveals nothing of a key
	Name string `json:"name"` // for people: "claude, ~/.claude"
	// Key names the variables that have its keys: "CODEX_API_KEY". Empty: it is a login.
	Key string `json:"key,omitempty"`
}

// Process identifies a process. A pid alone is reused.
type Process struct {
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"` // field 22 of /proc/PID/stat, clock ticks since boot
}

// WorkspaceState is the workspace as it was made for a session.
type WorkspaceState struct {
	Path    string `json:"path,omitempty"`
	Mode    string `json:"mode,omitempty"`
	Repo    string `json:"repo,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Created bool   `json:"created,omitempty"`     // by agentform; what it did not make it does not remove
	Made    bool   `json:"branch_made,omitempty"` // the branch was created with the workspace
	Ready   bool   `json:"ready,omitempty"`       // setup has run
}

// Override is what a user ordered against the spec. The hub respects it, and a later apply
// lifts it.
type Override struct {
	Desired Desired   `json:"desired"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// OverBudget is a hold because a budget is used up. The hub sets and lifts it, and an apply that
// ignores budgets lifts it.
type OverBudget struct {
	Budget  string    `json:"budget"`
	Desired Desired   `json:"desired"` // Paused or Stopped
	Since   time.Time `json:"since"`
	Until   time.Time `json:"until,omitzero"` // when the budget's period ends; zero: it has no end
	Detail  string    `json:"detail"`         // for people: 20,134,112 of 20,000,000 tokens
}

// String returns it for people, without its end.
func (o OverBudget) String() string {
	return fmt.Sprintf("%s by the budget %s: %s", o.Desired, o.Budget, o.Detail)
}

// Finished is the end of a session that is done. It is recorded before its agent is ended, and kept
// until the agent is started again.
type Finished struct {
	By     Finish    `json:"by"` // what was reached
	At     time.Time `json:"at"`
	Commit string    `json:"commit,omitempty"` // of its branch then; empty: not known
}

// Landed is how the work of a session came to its base.
type Landed struct {
	Into   string    `json:"into"`   // the base, a branch
	Commit string    `json:"commit"` // of the base that has the work
	From   string    `json:"from"`   // the commit of the session's branch
	At     time.Time `json:"at"`
	// Unverified means that the work was landed without its required verification.
	Unverified bool `json:"unverified,omitempty"`
}

// String returns it for people: landed in main at 9fd6338.
func (l Landed) String() string {
	return "landed in " + l.Into + " at " + l.Commit[:min(7, len(l.Commit))]
}
