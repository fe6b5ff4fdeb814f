package view

import (
	"fmt"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
)

// Glance is a session's entry in a list.
type Glance struct {
	Status  string // in words
	Color   string // of Status, as parameters of SGR
	Reason  string // one line, without the answers to a question
	Changes string // of its workspace, with conflicts and pull request; a dash if not known
}

// GlanceOf returns a session for a list.
func GlanceOf(x api.Session, now time.Time) Glance {
	changes := changed(x.Changes)
	if n := lacks(x); n != nil && *n > 0 {
		changes += fmt.Sprintf(", %d behind", *n)
	}
	if names := conflictNames(x.Conflicts); names != nil {
		changes += ", conflicts with " + few(names, 2)
	}
	if p := x.Pull; p != nil && p.Number > 0 {
		changes += ", pull request " + requested(p)
	}
	return Glance{status.Text(x, now), string(wordInk(x)), withoutAnswers(x, why(x, now)), changes}
}
