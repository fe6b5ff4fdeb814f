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

// LandStep is one thing that landing does.
type LandStep struct {
	Kind   string `json:"kind"` // commit, fetch, merge, squash, rebase, advance, push, pull_request
	Detail string `json:"detail"`
}
