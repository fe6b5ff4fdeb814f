package view

import (
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
)

// Glance returns a session for a list: its status in words, the color of it as parameters
// of SGR, and why, in one line and without the answers to a question.
func Glance(x api.Session, now time.Time) (text, color, reason string) {
	return status.Text(x, now), string(wordInk(x)), withoutAnswers(x, why(x, now))
}
