package agent

import (
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// copied returns a transcript that shares nothing with one that is still written to.
func copied(n session.Transcript) session.Transcript {
	n.Messages, n.Queued, n.Limits = slices.Clone(n.Messages), slices.Clone(n.Queued), slices.Clone(n.Limits)
	return n
}

// endTurn counts a turn that ended, by itself or because a person interrupted it.
func endTurn(n *session.Transcript, at time.Time, interrupted bool) {
	n.Turns++
	n.Interrupted = interrupted
	n.TurnAt = at
	if n.FirstTurnAt.IsZero() {
		n.FirstTurnAt = at
	}
}
