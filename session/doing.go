package session

import (
	"fmt"
	"strings"
	"time"
)

// Doing is what the agent of one run does.
type Doing struct {
	Run      string    `json:"run"`
	Activity Activity  `json:"activity"`
	Since    time.Time `json:"since,omitzero"` // when it was last given something; zero: not known
	Starting bool      `json:"starting"`       // it was never seen ready for a prompt in this run
	Turn     bool      `json:"turn_ended"`     // a turn has ended since it was given its prompt
	// Ended is when the turn of the last input ended, without a question, a limit, a failure or an
	// interruption, and with no queued message; zero: it has not, or that is not certain.
	Ended time.Time `json:"ended_at,omitzero"`
	// Interrupted means that the turn of the last input was cut off, and the agent rests since.
	Interrupted bool `json:"interrupted,omitempty"`
}

// At returns the activity in words, as of a moment: working 3m.
func (d Doing) At(now time.Time) string {
	word := strings.ReplaceAll(string(d.Activity), "_", " ")
	since := d.For(now)
	switch {
	case d.Interrupted:
		return "interrupted"
	case since <= 0, d.Activity == Idle, d.Activity == Done, d.Activity == Failed, d.Activity == Exited:
		return word
	}
	return word + " " + rough(since)
}

// For returns for how long it has been at what it was given; 0: not known.
func (d Doing) For(now time.Time) time.Duration {
	if d.Since.IsZero() || !now.After(d.Since) {
		return 0
	}
	return now.Sub(d.Since)
}

// rough returns a duration in its largest unit: 12s, 3m, 2h, 5d.
func rough(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
