package view

import "github.com/agentform/agentform/plan"

// verb is an action in the forms that sentences need.
type verb struct{ plain, doing, done string }

// verbs are the words for an action. One that is not known is told by its own
// name.
func verbs(a plan.Action) verb {
	switch a {
	case plan.Create:
		return verb{"create", "creating", "created"}
	case plan.Update:
		return verb{"update", "updating", "updated"}
	case plan.Restart:
		return verb{"restart", "restarting", "restarted"}
	case plan.Replace:
		return verb{"replace", "replacing", "replaced"}
	case plan.Pause:
		return verb{"pause", "pausing", "paused"}
	case plan.Resume:
		return verb{"resume", "resuming", "resumed"}
	case plan.Stop:
		return verb{"stop", "stopping", "stopped"}
	case plan.Delete:
		return verb{"destroy", "destroying", "destroyed"}
	case plan.Adopt:
		return verb{"adopt", "adopting", "adopted"}
	case plan.Forget:
		return verb{"forget", "forgetting", "forgotten"}
	}
	return verb{string(a), string(a), string(a) + " done"}
}
