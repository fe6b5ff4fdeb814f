package view

import (
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
)

// Glance is a session in a list.
type Glance struct {
	Status  string // in words
	Color   string // of Status, as parameters of SGR
	Reason  string // why, in one line and without the answers to a question
	Changes string // of its workspace; a dash if they are not known
}

// GlanceOf returns a session for a list.
func GlanceOf(x api.Session, now time.Time) Glance {
	return Glance{status.Text(x, now), string(wordInk(x)), withoutAnswers(x, why(x, now)), changed(x.Changes)}
}
