package program

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// leftoverGrace is the grace of processes that outlive the agent.
const leftoverGrace = 2 * time.Second

// freezeTimeout bounds the suspension of a tree. Like proc.KillTimeout it allows for processes that
// wait for a disk, which heed no signal.
const freezeTimeout = 10 * time.Second

// reap reaps every child, including the orphans that the kernel hands over. Having no child left
// proves that the tree is gone.
func (r *run) reap() {
	for block := false; ; {
		var status syscall.WaitStatus
		options := syscall.WNOHANG
		if block {
			options = 0
		}
		pid, err := syscall.Wait4(-1, &status, options, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			close(r.empty)
			return
		case pid == 0: // children are still running
			r.mu.Lock()
			gone := r.gone
			r.mu.Unlock()
			if gone {
				r.end(rundir.CauseSelf, syscall.SIGTERM, leftoverGrace)
			}
			block = true
		case pid == r.agent.PID:
			r.mu.Lock()
			r.gone, r.status = true, status
			if r.cause == "" {
				r.cause = rundir.CauseSelf
			}
			r.mu.Unlock()
			block = false // is anything left?
		default:
			r.reaped(pid, status)
		}
	}
}

// endAs ends the run with the signal and grace it was configured with.
func (r *run) endAs(cause string) {
	r.mu.Lock()
	sig, err := proc.ParseSignal(r.config.Signal)
	grace := r.config.Grace
	r.mu.Unlock()
	if err != nil { // impossible: it was checked when it was set
		sig = syscall.SIGTERM
	}
	r.end(cause, sig, grace)
}

// end starts to end the run and returns at once. The first cause stays; a later call can only bring
// SIGKILL forward.
func (r *run) end(cause string, sig syscall.Signal, grace time.Duration) {
	deadline := time.Now().Add(grace)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == "" {
		r.cause = cause
	}
	if r.deadline.IsZero() {
		r.signal, r.deadline = sig, deadline
		go r.terminate()
	} else if deadline.Before(r.deadline) {
		r.deadline = deadline
		poke(r.hurry)
	}
	poke(r.changed)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// terminate signals the tree until nothing is left of it. Each look finds the new processes.
func (r *run) terminate() {
	r.awaitPause()
	asked := map[proc.Process]bool{}
	for wait := time.Millisecond; ; wait = min(2*wait, proc.MaxWait) {
		r.mu.Lock()
		deadline, sig, gone := r.deadline, r.signal, r.gone
		r.mu.Unlock()
		kill := !time.Now().Before(deadline)
		var living []proc.Process
		for _, s := range proc.Descendants(r.self.PID) {
			if s.Alive() {
				living = append(living, s.Process)
			}
		}
		signalled := proc.Signal(living, sig, kill, asked)
		if gone {
			r.leave(signalled)
		}
		if !kill {
			wait = min(wait, time.Until(deadline))
		}
		select {
		case <-r.empty:
			return
		case <-r.hurry:
		case <-time.After(wait):
		}
	}
}

// leave counts processes that outlived the agent.
func (r *run) leave(procs []proc.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left == nil {
		r.left = map[proc.Process]bool{}
	}
	for _, p := range procs {
		r.left[p] = true
	}
}

// awaitPause waits for a pause under way, which gives up when the run ends, as a later one does at
// once.
func (r *run) awaitPause() {
	r.tree.Lock()
	defer r.tree.Unlock()
}

// freeze suspends the tree until two looks in a row find nothing running. It stops parents first,
// so that they start nothing behind the walk. The shim itself keeps running: tmux would continue
// its own child at once.
func (r *run) freeze() error {
	r.tree.Lock()
	defer r.tree.Unlock()
	deadline := time.Now().Add(freezeTimeout)
	var moving, looks int
	for quiet := 0; quiet < 2; {
		if r.ending() {
			return &shim.Error{Code: shim.CodeEnding, Message: "the run is being stopped"}
		}
		moving = 0
		for _, s := range proc.Descendants(r.self.PID) {
			if !s.Stopped() {
				moving++
				syscall.Kill(s.PID, syscall.SIGSTOP)
			}
		}
		if moving == 0 {
			quiet++
			continue
		}
		quiet = 0
		// A process that waits for a vfork stops only once its child, perhaps stopped already, has
		// called exec.
		if looks++; looks%100 == 0 {
			r.wake()
		}
		if time.Now().After(deadline) {
			r.wake()
			return &shim.Error{Code: shim.CodeFailed, Message: fmt.Sprintf("%d processes are not suspended after %s", moving, freezeTimeout)}
		}
		time.Sleep(time.Millisecond)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.frozen {
		r.ranBefore, r.frozen = r.ran(), true
		poke(r.changed)
	}
	return nil
}

// thaw resumes the tree.
func (r *run) thaw() {
	r.tree.Lock()
	defer r.tree.Unlock()
	r.wake()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen {
		r.resumed, r.frozen = time.Now(), false
		poke(r.changed)
	}
}

// wake continues children before their parents: a shell with job control must not find them
// stopped.
func (r *run) wake() {
	for _, s := range slices.Backward(proc.Descendants(r.self.PID)) {
		syscall.Kill(s.PID, syscall.SIGCONT)
	}
}

func (r *run) ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cause != ""
}
