package session

// SeenReady reports whether one look shows that the agent has been ready for a prompt
// in this run: its screen shows it, it works, or its own signals tell that it is at
// what its command line gave it. Then it may ask something for longer than any wait.
// A question that only its screen or title shows could be one before it begins.
func SeenReady(a Agent, rec Record, seen Reading, screen string) bool {
	if seen.Activity == Working || screen != "" && a.Ready(screen) {
		return true
	}
	switch seen.Activity {
	case Blocked, BlockedAPI, Idle, Done:
		if rec.Run.DeliveredAt.IsZero() {
			return false
		}
		if seen.Source == "native" || seen.Source == "hook" {
			return true
		}
		// In a conversation that goes on, the prompts are of the runs before, too.
		n, resumed := seen.Native, rec.Run.DeliveredAt.Before(rec.Run.StartedAt)
		return !resumed && n != nil && n.Begun() && !n.At.Before(rec.Run.StartedAt)
	}
	return false
}
