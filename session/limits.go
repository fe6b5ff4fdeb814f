package session

import (
	"fmt"
	"slices"
	"time"
)

// LimitWindow is what an account has used of a limit of its provider.
type LimitWindow struct {
	Length   Duration
	Used     float64   // percent
	ResetsAt time.Time // zero: not known
}

// Limits are what happens at a limit of the model's provider, and when it has ended.
type Limits struct {
	OnQuota OnQuota `json:"on_quota,omitempty"` // empty: QuotaWaits
	// Fallback are the agents that may continue the work, the first choice first.
	Fallback []AgentSpec `json:"fallback,omitempty"`
	Resume   LimitResume `json:"resume,omitempty"` // empty: ResumeNever
}

// OnQuota is what happens when a quota of the session's credential is used up.
type OnQuota string

// The values of on_quota.
const (
	QuotaWaits     OnQuota = "wait"     // the session waits until the quota resets
	QuotaFallsBack OnQuota = "fallback" // another agent continues the work
)

// Fallback is another agent that continues the work of a session.
type Fallback struct {
	Agent   string    `json:"agent"`   // that runs
	Instead OwnAgent  `json:"instead"` // of which
	Since   time.Time `json:"since"`
	// Credential is the one whose quota was used up, and Until when that resets.
	Credential Credential `json:"credential"`
	Until      time.Time  `json:"until"`
	// Prompt is the digest of what the agent is given first, in place of the session's prompt Of or of
	// none. Empty: that counts no more.
	Prompt string `json:"prompt_sha256,omitempty"`
	Of     string `json:"of_prompt_sha256,omitempty"`
}

// OwnAgent is what a session's spec says of its own agent alone.
type OwnAgent struct {
	Agent        AgentSpec    `json:"agent"`
	Profile      string       `json:"profile,omitempty"`
	Args         []string     `json:"args,omitempty"`
	Conversation Conversation `json:"conversation,omitzero"`
}

// Own returns what the spec says of its agent alone.
func (s Spec) Own() OwnAgent { return OwnAgent{s.Agent, s.Profile, s.Args, s.Conversation} }

// With returns the spec with another agent.
func (s Spec) With(a OwnAgent) Spec {
	s.Agent, s.Profile, s.Args, s.Conversation = a.Agent, a.Profile, a.Args, a.Conversation
	return s
}

// Lists reports whether an agent is among those that may continue the work.
func (l Limits) Lists(agent string) bool {
	return slices.ContainsFunc(l.Fallback, func(a AgentSpec) bool { return a.Name == agent })
}

// String returns it for people: codex instead of claude, whose quota resets at …
func (f Fallback) String() string {
	return fmt.Sprintf("%s instead of %s, whose quota resets at %s", f.Agent, f.Instead.Agent.Name, f.Until.UTC().Format(time.RFC3339))
}

// Hands reports whether the agent is given what hands over the work in place of a prompt.
func (f *Fallback) Hands(prompt string) bool { return f != nil && f.Prompt != "" && f.Of == prompt }

// LimitResume is how a session resumes its work when a quota has reset.
type LimitResume string

// The values of resume.
const (
	ResumeNever     LimitResume = "never"     // its agent is sent nothing
	ResumeStaggered LimitResume = "staggered" // it is sent "continue", one session of a credential after the other
)
