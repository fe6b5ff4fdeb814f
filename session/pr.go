package session

import (
	"slices"
	"time"
)

// PR is what the hub does about the pull request of a session's branch.
type PR struct {
	Checks  PRUse    `json:"checks"`
	Reviews PRUse    `json:"reviews"`
	Rounds  int      `json:"rounds"`         // texts in a row after which a person is needed; 0: there is no block
	From    []string `json:"from,omitempty"` // associations of people whose reviews are sent, in GitHub's words
}

// Declared reports whether there is a pr block.
func (p PR) Declared() bool { return p.Rounds > 0 }

// PRUse is what the hub does about failed checks, or about reviews.
type PRUse string

// The values of checks and reviews.
const (
	PRSends   PRUse = "send"   // its agent is sent them, until Rounds is reached
	PRIgnores PRUse = "ignore" // they are only counted
)

// PullRequest is what is known of the pull request of a session's branch.
type PullRequest struct {
	Number  int      `json:"number"` // 0: there is none yet
	URL     string   `json:"url"`
	State   PRState  `json:"state"`
	Head    string   `json:"head"`              // its commit
	Checks  Checks   `json:"checks,omitempty"`  // of Head
	Reviews int      `json:"reviews,omitempty"` // comments that are not resolved, and reviews that request changes
	Given   []string `json:"given,omitempty"`   // ids of what its agent was sent, or was about to be, oldest first
	Round   int      `json:"round,omitempty"`   // of the texts in a row, counted from 1
	// SentAt is when the agent was about to be sent something last, for the commit SentFor; zero: it was not.
	SentAt  time.Time `json:"sent_at,omitzero"`
	SentFor string    `json:"sent_for,omitempty"`
	// HeldAt is since when the agent is sent nothing more: a person is needed. Zero: it is not held.
	HeldAt time.Time `json:"held_at,omitzero"`
	Detail string    `json:"detail,omitempty"` // why it is held
	// Unread marks a hold because the pull request cannot be read: the known state is old.
	Unread bool `json:"unread,omitempty"`
}

// Held reports whether a person is needed; p may be nil.
func (p *PullRequest) Held() bool { return p != nil && !p.HeldAt.IsZero() }

// PRHeld reports whether the session's pull request needs a person. What was so before its work has
// landed is over.
func (r Record) PRHeld() bool {
	return r.Spec.PR.Declared() && r.PR.Held() && (r.Landed == nil || r.Landed.At.Before(r.PR.HeldAt))
}

// PRState is the state of a pull request.
type PRState string

// The states.
const (
	PROpen   PRState = "open"
	PRMerged PRState = "merged"
	PRClosed PRState = "closed" // without being merged
)

// Checks is the result of the checks of a commit.
type Checks string

// The values. A commit without checks has none of them.
const (
	ChecksRun    Checks = "running"
	ChecksFailed Checks = "failed" // one has, though others may run
	ChecksPassed Checks = "passed"
)

// Same reports whether two records of pull requests are the same one; either may be nil.
func (p *PullRequest) Same(q *PullRequest) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.Number == q.Number && p.URL == q.URL && p.State == q.State && p.Head == q.Head && p.Checks == q.Checks && p.Reviews == q.Reviews &&
		slices.Equal(p.Given, q.Given) && p.Round == q.Round && p.SentAt.Equal(q.SentAt) && p.SentFor == q.SentFor &&
		p.HeldAt.Equal(q.HeldAt) && p.Detail == q.Detail && p.Unread == q.Unread
}
