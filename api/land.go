package api

import "github.com/agentform/agentform/session"

// LandOptions say how the work of a session comes to its base.
type LandOptions struct {
	Method  string `json:"method,omitempty"`  // merge (the default), squash, rebase or pr
	Commit  string `json:"commit,omitempty"`  // the message for what is not committed; empty: that is refused
	Message string `json:"message,omitempty"` // of the merge, the squashed commit or the pull request; empty: made from the commits
	Into    string `json:"into,omitempty"`    // the base; empty: that of the workspace
	DryRun  bool   `json:"dry_run,omitempty"` // only return what would be done
	// Unverified lands also what the session's verify block has not verified.
	Unverified bool `json:"unverified,omitempty"`
}

// LandDocument is what landing did, or would do, as land --json has it. The session stays.
type LandDocument struct {
	Format string `json:"format_version"`
	DryRun bool   `json:"dry_run"`
	Result Landed `json:"result"`
}

// Landed is what became of the work.
type Landed struct {
	Address session.Address `json:"address"`
	Branch  string          `json:"branch"`
	Commit  string          `json:"commit"` // of the branch
	Base    string          `json:"base"`
	Method  string          `json:"method"`
	Done    bool            `json:"landed"`   // the base has the work
	Already bool            `json:"already"`  // it had it before
	Commits int             `json:"commits"`  // that were landed or pushed
	From    string          `json:"base_was"` // a commit
	To      string          `json:"base_is"`
	Moved   string          `json:"checkout"` // of the base, which moved along; empty: there is none
	Remote  string          `json:"remote"`   // that the branch was pushed to
	URL     string          `json:"url"`      // of the pull request, or where to open it
	Open    bool            `json:"opened"`   // the pull request is open
	Note    string          `json:"note"`     // why a tool did not open it
	Steps   []LandStep      `json:"steps"`
}

// RefreshOptions say how the base of a session comes into its branch.
type RefreshOptions struct {
	DryRun bool `json:"dry_run,omitempty"` // only return what would be done
}

// RefreshDocument is what refreshing sessions did, or would do, as refresh --json has it.
type RefreshDocument struct {
	Format    string      `json:"format_version"`
	DryRun    bool        `json:"dry_run"`
	Refreshes []Refreshed `json:"refreshes"`
}

// Refreshed is what became of bringing the base of a session into its branch.
type Refreshed struct {
	Address   session.Address `json:"address"`
	Branch    string          `json:"branch"`
	Base      string          `json:"base"`
	Method    string          `json:"method"`     // merge or rebase
	Done      bool            `json:"done"`       // the branch has the base
	Already   bool            `json:"already"`    // it had it before
	Commits   int             `json:"commits"`    // of the base that the branch lacked
	From      string          `json:"branch_was"` // a commit
	To        string          `json:"branch_is"`
	Conflicts []string        `json:"conflicts"` // files; nothing was changed
	Sent      bool            `json:"sent"`      // the agent was asked to merge the base
	Error     string          `json:"error"`     // empty: it did not fail
}

// LandingOptions say which order is to land. Work that is not in it does not land.
type LandingOptions struct {
	Steps    []ShownStep `json:"steps"`              // as they were shown
	Verified bool        `json:"verified,omitempty"` // only sessions whose work is verified
	Method   string      `json:"method,omitempty"`   // merge (the default), squash or rebase
}

// ShownStep is a step of an order that was shown. Another tree does not land.
type ShownStep struct {
	Address session.Address `json:"address"`
	Tree    string          `json:"tree"` // of the base after it
	Base    string          `json:"base"` // as it was shown; empty: whatever it is now
}

// LandingDocument is the order in which the work of sessions lands, and what became of it, as
// land --all --json has it.
type LandingDocument struct {
	Format    string        `json:"format_version"`
	DryRun    bool          `json:"dry_run"`
	Steps     []LandingStep `json:"steps"`
	LeftOut   []LeftOut     `json:"left_out"`
	Refreshes []Refreshed   `json:"refreshes"` // of sessions that depend on what has landed
}

// LandingStep is the landing of one session of several.
type LandingStep struct {
	Address session.Address `json:"address"`
	Branch  string          `json:"branch"`
	Base    string          `json:"base"`
	Commit  string          `json:"commit"` // of the branch
	Commits int             `json:"commits"`
	Tree    string          `json:"tree"`    // of the base after it, as foreseen
	Landed  bool            `json:"landed"`  // the base has the work
	To      string          `json:"base_is"` // a commit; empty: it has not landed
	Error   string          `json:"error"`   // why it did not land, and the steps after it
}

// LeftOut is a session with work that does not land.
type LeftOut struct {
	Address session.Address `json:"address"`
	Branch  string          `json:"branch"`
	Why     string          `json:"why"`
	Unsaved string          `json:"unsaved"` // what is not committed, if landing it alone with a message for that is all that lacks
}

// LandStep is one thing that landing does.
type LandStep struct {
	Kind   string `json:"kind"` // commit, fetch, merge, squash, rebase, advance, push, pull_request
	Detail string `json:"detail"`
}
