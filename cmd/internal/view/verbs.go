package view

import "github.com/agentform/agentform/plan"

type verb struct{ plain, doing, done string }

var verbWords = map[plan.Action]verb{
	plan.Create:  {"create", "creating", "created"},
	plan.Update:  {"update", "updating", "updated"},
	plan.Restart: {"restart", "restarting", "restarted"},
	plan.Replace: {"replace", "replacing", "replaced"},
	plan.Pause:   {"pause", "pausing", "paused"},
	plan.Resume:  {"resume", "resuming", "resumed"},
	plan.Stop:    {"stop", "stopping", "stopped"},
	plan.Delete:  {"destroy", "destroying", "destroyed"},
	plan.Adopt:   {"adopt", "adopting", "adopted"},
	plan.Forget:  {"forget", "forgetting", "forgotten"},
}

func verbs(a plan.Action) verb {
	if v, known := verbWords[a]; known {
		return v
	}
	return verb{string(a), string(a), string(a) + " done"}
}
