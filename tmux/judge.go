package tmux

import (
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// evidence is all that can be known of a run: what tmux says of its pane, what
// its folder says, and what the kernel says of the processes named there.
type evidence struct {
	paneUp bool // a process runs in our pane
	reaped bool // tmux has the exit status of the guest: it is gone for certain
	clean  bool // that status is 0

	claimed bool // a guest took the run up
	guest   bool // that guest runs
	started bool // the agent was started
	agent   bool // it runs
	stopped bool // by a signal
	exit    *rundir.Exit
}

// judge says whether a run's agent lives and how it ended. Neither tmux nor the
// folder is believed alone that it is dead:
//
//   - An exit file and an agent that does not run are two witnesses: dead, even
//     if the guest still holds the pane for a moment.
//   - A dead pane and an agent that does not run are two: dead. Without an exit
//     file nobody knows how (the guest was killed, and its agent with it); while
//     the guest still runs it is about to say, and until then it is unknown.
//   - A dead pane whose guest never took the run up, or never came to start the
//     agent, is dead only once tmux has reaped the guest: "dead" with an empty
//     status has been seen seconds before the process was gone.
//   - An agent that runs while the pane is dead or an exit is written down:
//     unknown.
//   - A live pane whose agent does not run, and no exit file: unknown. The guest
//     is about to write it, or someone else's process is in the pane.
//   - Everything else is a pane with a process in it and nothing against it:
//     alive, also while the guest has yet to start the agent.
//
// A clean exit means that the work is done and is never run again, so it takes
// both: where tmux knows that the guest left otherwise, the exit is not 0.
func judge(e evidence) (session.Vital, *rundir.Exit) {
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
		if !e.guest && (e.started || e.reaped) {
			return session.Dead, nil
		}
		return session.Unknown, nil
	case e.started, e.claimed && !e.guest:
		return session.Unknown, nil
	}
	return session.Alive, nil
}

// doubt says, for people, why it is unknown whether the agent lives.
func (e evidence) doubt() string {
	switch {
	case e.agent && e.exit != nil:
		return "an exit is written down, and the agent's process runs"
	case e.agent:
		return "its pane is dead, and the agent's process runs"
	case e.guest && e.paneUp:
		return "its agent has ended, and what that left behind is being ended"
	}
	return "its signals contradict each other"
}

// gather looks at the processes that the facts name.
func gather(p pane, f rundir.Facts) evidence {
	alive, stopped := f.Agent.Runs()
	e := evidence{
		paneUp:  !p.Dead && !p.closed,
		reaped:  p.closed || p.ExitStatus != "" || p.ExitSignal != "",
		clean:   p.closed || p.ExitStatus == "0", // of a closed pane tmux forgot how, and so contradicts nothing
		claimed: f.Claimed,
		started: f.Agent.PID != 0,
		agent:   alive,
		stopped: stopped,
		exit:    f.Exit,
	}
	if !e.agent || !e.paneUp { // elsewhere it makes no difference, and costs a look
		e.guest = f.Guest.Alive()
	}
	return e
}
