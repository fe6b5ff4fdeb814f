package tmux

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentform/agentform/internal/shim"
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
	exit    *shim.Exit
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
func judge(e evidence) (session.Vital, *shim.Exit) {
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

// assess adds to a session what the facts of its run tell.
func (r *Runtime) assess(ctx context.Context, l *session.Live, p pane) {
	if l.Foreign {
		// Whose it is, and what runs in it, is not for us to judge.
		l.Vital = session.Unknown
		return
	}
	// What could not be read is missing, and what is missing proves nothing.
	var f shim.Facts
	known := runForm.MatchString(l.Mark.Run)
	if known {
		f, _ = r.glances.Glance(r.runDir(l.Mark.Run))
	}
	seen := gather(p, f)
	vital, exit := judge(seen)
	if known && vital != session.Alive && exit == nil {
		// The exit may have been written after it was looked for and before the
		// processes were.
		f, _ = shim.ReadFacts(r.runDir(l.Mark.Run))
		vital, exit = judge(gather(p, f))
	}
	if exit == nil && vital == session.Dead && f.Adopted() && !p.closed {
		// No guest writes it down, and the pane's process is the agent.
		if exit = leftBy(p, f); exit == nil && r.firstTime(l.Mark.Run) {
			// It was reaped after tmux was asked, so now tmux knows.
			if now, err := r.server(l.Place.Socket).look(ctx, l.Place.Name); err == nil && now.ID == p.ID && now.Dead {
				exit = leftBy(now, f)
			}
		}
	}
	l.Vital, l.Exit, l.Doubt = vital, exitOf(exit), ""
	if vital == session.Unknown {
		l.Doubt = gather(p, f).doubt()
	}
	l.Agent = session.Process{PID: f.Agent.PID, Start: f.Agent.Start}
	l.BootID, l.Started = f.BootID, f.StartedAt
	switch {
	case l.Vital == session.Dead:
		l.Frozen = false
	case seen.stopped && !l.Frozen:
		l.Frozen, l.Suspended = true, true
	}
}

// firstTime reports whether nobody has asked yet how a run left: where that stays
// unknown, each look would ask again.
func (r *Runtime) firstTime(run string) bool {
	return r.postMortems.add(run)
}

// gather looks at the processes that the facts name.
func gather(p pane, f shim.Facts) evidence {
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

func exitOf(e *shim.Exit) *session.Exit {
	if e == nil {
		return nil
	}
	return &session.Exit{Cause: e.Cause, Code: e.Code, Signal: e.Signal, At: e.At, Ran: session.Duration(e.Ran), Leftovers: e.Leftovers, Detail: e.Detail}
}

// launchSpec reads the spec that a run was launched with.
func launchSpec(runDir string) (*session.Spec, error) {
	f, err := shim.ReadFacts(runDir)
	if len(f.Spec) == 0 {
		return nil, err
	}
	var s session.Spec
	if err := json.Unmarshal(f.Spec, &s); err != nil {
		return nil, fmt.Errorf("read the spec of run %s: %w", runDir, err)
	}
	return &s, nil
}
