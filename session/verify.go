package session

import (
	"fmt"
	"slices"
	"time"
)

// Verify is the command that has to succeed before the work of a session counts. It runs where
// the agent works, when a turn has ended with commits that the base lacks.
type Verify struct {
	Command   []string  `json:"command"` // empty: there is none
	Timeout   Duration  `json:"timeout"`
	OnFailure OnFailure `json:"on_failure"`
	Rounds    int       `json:"rounds"`            // failures in a row after which a person is needed
	Protect   []string  `json:"protect,omitempty"` // patterns of files that the work must not change
	Commit    bool      `json:"commit,omitempty"`  // what a turn leaves uncommitted is committed first
	Clean     bool      `json:"clean,omitempty"`   // it runs in a fresh checkout of the commit
}

// Declared reports whether there is a command.
func (v Verify) Declared() bool { return len(v.Command) > 0 }

// Equal reports whether two blocks are the same.
func (v Verify) Equal(w Verify) bool {
	return v.SameTest(w) && v.Timeout == w.Timeout && v.OnFailure == w.OnFailure && v.Rounds == w.Rounds && v.Commit == w.Commit
}

// SameTest reports whether work that is verified by one block is so by the other.
func (v Verify) SameTest(w Verify) bool {
	return slices.Equal(v.Command, w.Command) && slices.Equal(v.Protect, w.Protect) && v.Clean == w.Clean
}

// OnFailure is what a verification that failed leads to.
type OnFailure string

// The values of on_failure.
const (
	FailureSends   OnFailure = "send"   // its agent is sent the failure, until Rounds is reached
	FailureHolds   OnFailure = "hold"   // a person is needed
	FailureIgnored OnFailure = "ignore" // it is only recorded
)

// Verified is the outcome of the last verification of a session: a fact about a commit.
type Verified struct {
	Commit string    `json:"commit"`
	Block  Verify    `json:"block"` // by which it was verified
	OK     bool      `json:"ok"`
	At     time.Time `json:"at"`
	Round  int       `json:"round,omitempty"`  // of the failures in a row, counted from 1
	Detail string    `json:"detail,omitempty"` // why it failed, for people
	Log    string    `json:"log,omitempty"`    // the file with all output, as the agent sees it; empty: there is none
	// Unsaved means that it failed because of uncommitted files: the same commit may be verified
	// later.
	Unsaved bool `json:"unsaved,omitempty"`
	// None means that there was no work to verify.
	None bool `json:"none,omitempty"`
	// SentAt is when the agent was about to be sent the failure; zero: it was not.
	SentAt time.Time `json:"sent_at,omitzero"`
	// Held means that the agent gets no more messages: the user's attention is needed.
	Held bool `json:"held,omitempty"`
}

// Same reports whether two records of verifications are the same one; either may be nil.
func (v *Verified) Same(w *Verified) bool {
	if v == nil || w == nil {
		return v == w
	}
	return v.Commit == w.Commit && v.At.Equal(w.At) && v.SentAt.Equal(w.SentAt) && v.Held == w.Held
}

// By reports whether the work is verified as a block requires; v may be nil.
func (v *Verified) By(b Verify) bool {
	return v != nil && v.OK && v.Block.SameTest(b)
}

// Unverified reports whether a commit of the session has to be verified and is not.
func (r Record) Unverified(commit string) bool {
	v, declared := r.Verified, r.Spec.Verify
	return declared.Declared() && (!v.By(declared) || v.Commit != commit)
}

// Word returns it in a word for people, with the rounds of a verify block: verified, red 2/3.
func (v Verified) Word(rounds int) string {
	switch {
	case v.OK:
		return "verified"
	case v.Round > 0 && rounds > 0:
		return fmt.Sprintf("red %d/%d", v.Round, rounds)
	}
	return "red"
}
