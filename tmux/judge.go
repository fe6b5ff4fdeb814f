package tmux

import (
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// evidence is what tmux reports of a run's pane, what the run's directory says, and whether
// the processes named there are alive.
type evidence struct {
	paneUp bool // a process runs in the agent's pane
	reaped bool // tmux has the shim's exit status, so the shim has exited
	clean  bool // that status is 0

	claimed bool // a shim has taken the run
	shim    bool // it is alive
	started bool // the agent was started
	agent   bool // it is alive
	stopped bool // by a signal
	exit    *rundir.Exit
}

// judge returns whether a run's agent is alive and how it ended. It takes two signals for
// dead:
//
//   - An exit file and an agent that is gone: dead, even if the shim is still in the pane.
//   - A dead pane and an agent that is gone: dead, without an exit if the shim was killed
//     too. While the shim is alive, it is about to write the exit: unknown.
//   - A dead pane whose shim never started the agent: dead once tmux has reaped the shim.
//     tmux has reported dead panes seconds before the process had exited.
//   - An agent that is alive although the pane is dead or an exit is written: unknown.
//   - A live pane, no agent and no exit file: unknown. The shim is about to write the exit,
//     or the pane has another process.
//   - Everything else: alive, also before the shim has started the agent.
//
// A session with a clean exit is finished and never run again, so if tmux reports another
// status for the shim, the exit is not 0.
func judge(e evidence) (session.Liveness, *rundir.Exit) {
	switch {
	case e.agent:
		if !e.paneUp || e.exit != nil {
			return session.Unknown, nil
		}
		return session.Alive, nil
	case e.exit != nil:
		exit := *e.exit
		if e.reaped && !e.clean && exit.Code == 0 && exit.Signal == "" {
			exit.Code, exit.Detail = 1, "the exit file says 0, tmux says otherwise"
		}
		return session.Dead, &exit
	case !e.paneUp:
		if !e.shim && (e.started || e.reaped) {
			return session.Dead, nil
		}
		return session.Unknown, nil
	case e.started, e.claimed && !e.shim:
		return session.Unknown, nil
	}
	return session.Alive, nil
}

func (e evidence) unknownReason() string {
	switch {
	case e.agent && e.exit != nil:
		return "an exit is recorded, but the agent's process is running"
	case e.agent:
		return "its pane is dead, but the agent's process is running"
	case e.shim && e.paneUp:
		return "its agent has exited, and the processes that it left are being ended"
	}
	return "its signals contradict each other"
}

func gather(p pane, f rundir.Facts) evidence {
	alive, stopped := f.Agent.Runs()
	e := evidence{
		paneUp:  !p.Dead && !p.closed,
		reaped:  p.closed || p.ExitStatus != "" || p.ExitSignal != "",
		clean:   p.closed || p.ExitStatus == "0", // tmux has no status of a closed pane
		claimed: f.Claimed,
		started: f.Agent.PID != 0,
		agent:   alive,
		stopped: stopped,
		exit:    f.Exit,
	}
	if !e.agent || !e.paneUp { // otherwise it makes no difference
		e.shim = f.Shim.Alive()
	}
	return e
}
