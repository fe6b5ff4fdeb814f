package agent

import (
	"time"

	"github.com/agentform/agentform/session"
)

// endTurn counts a turn that ended.
func endTurn(n *session.Transcript, at time.Time) {
	n.Turns++
	n.TurnAt = at
	if n.FirstTurnAt.IsZero() {
		n.FirstTurnAt = at
	}
}
