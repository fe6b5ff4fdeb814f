package docker

import (
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// young is how long a container may be without a run after it was made: somebody
// may be at work on it.
const young = 10 * time.Second

// judge says whether a run's agent lives: by its processes, as the first process of
// the container sees them, and by what the run's folder says. doubt is why it cannot
// be told. made says that the container was made just now.
func judge(in shim.Inside, made bool) (v session.Vital, exit *session.Exit, doubt string) {
	switch {
	case in.Agent && in.Exit != nil:
		return session.Unknown, nil, "an exit is written down, and the agent's process runs"
	case in.Agent:
		return session.Alive, nil, ""
	case in.Exit != nil:
		return session.Dead, exitOf(in.Exit), ""
	case in.Guest && in.Process.PID == 0:
		return session.Alive, nil, "" // about to start it
	case in.Guest:
		return session.Unknown, nil, "its agent has ended, and what that left behind is being ended"
	case !in.Claimed && made:
		return session.Unknown, nil, "its container was made just now, and nothing was started in it yet"
	}
	return session.Dead, nil, ""
}
