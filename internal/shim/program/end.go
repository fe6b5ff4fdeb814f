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

// leftoverGrace bounds how long what the agent has left behind may take to go.
const leftoverGrace = 2 * time.Second

// freezeTimeout is how long a tree may take to stand still: like killTimeout, for
// what waits for a disk heeds no signal.
const freezeTimeout = 10 * time.Second

// reap collects every child that ends, the orphans that the kernel hands over
// too. That there is none left is the proof that the tree is gone.
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
		case pid == 0: // children live on
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
	if err != nil { // cannot be: checked when it was set
		sig = syscall.SIGTERM
	}
	r.end(cause, sig, grace)
}

// end begins to end the run, and returns at once. The first cause stays; a
// later call can only bring SIGKILL nearer.
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

// terminate signals the tree until nothing is left of it: new processes are
// found by the next look.
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

// leave remembers what the agent has left behind.
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

// awaitPause returns when no pause is under way: one that is sees the end and
// gives up, a later one does so at once.
func (r *run) awaitPause() {
	r.tree.Lock()
	defer r.tree.Unlock()
}

// freeze makes the tree stand still: parents first, so that nothing is started
// behind the walk, and until two looks in a row find nothing that runs. The
// shim itself goes on: tmux would wake its own child at once.
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
		// A process that waits for a vfork is stopped only once its child, which may be
		// stopped already, has become another program.
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

// thaw lets the tree go on.
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

// wake continues children before their parents: a shell that looks after its
// jobs must not find them stopped.
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
