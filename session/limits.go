package session

import "time"

// LimitWindow is what an account has used of a limit of its provider.
type LimitWindow struct {
	Length   Duration
	Used     float64   // percent
	ResetsAt time.Time // zero: not known
}

// Limits are what happens when a limit of the model's provider has ended.
type Limits struct {
	Resume LimitResume `json:"resume,omitempty"` // empty: ResumeNever
}

// LimitResume is how a session resumes its work when a quota has reset.
type LimitResume string

// The values of resume.
const (
	ResumeNever     LimitResume = "never"     // its agent is sent nothing
	ResumeStaggered LimitResume = "staggered" // it is sent "continue", one session of a credential after the other
)
