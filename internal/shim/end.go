package shim

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

const (
	// killTimeout is how long processes may outlive SIGKILL before that is an
	// error: they wait for a disk or a network file system.
	killTimeout = 5 * time.Second
	// leftoverGrace bounds how long what the agent has left behind may take to go.
	leftoverGrace = 2 * time.Second
	// maxWait is the longest wait between two looks at the tree.
	maxWait = 50 * time.Millisecond
	// freezeTimeout is how long a tree may take to stand still: like killTimeout, for
	// what waits for a disk heeds no signal.
	freezeTimeout = 10 * time.Second
)

// parent starts the agent, tells whether it did, and reaps until nothing is left:
// on one thread, because the kernel takes the end of the thread that started the
// agent for the end of its parent (see attributes). It is this one and not the main
// goroutine's, since changing between threads costs a guest more than all it does.
func (g *guest) parent(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := start(g.config, g.env)
	if err != nil {
		started <- err
		return
	}
	g.began = time.Now()
	g.resumed = g.began
	agent, _ := look(pid) // not reaped yet, so it is there
	g.agent = agent.proc()
	started <- nil
	g.reap()
}

// reap collects every child that ends, the orphans that the kernel hands over
// too. That there is none left is the proof that the tree is gone.
func (g *guest) reap() {
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
			close(g.empty)
			return
		case pid == 0: // children live on
			g.mu.Lock()
			gone := g.gone
			g.mu.Unlock()
			if gone {
				g.end(CauseSelf, syscall.SIGTERM, leftoverGrace)
			}
			block = true
		case pid == g.agent.PID:
			g.mu.Lock()
			g.gone, g.status = true, status
			if g.cause == "" {
				g.cause = CauseSelf
			}
			g.mu.Unlock()
			block = false // is anything left?
		default:
			g.reaped(pid, status)
		}
	}
}

// endAs ends the run with the signal and grace it was configured with.
func (g *guest) endAs(cause string) {
	g.mu.Lock()
	sig, err := stopSignal(g.config.Signal)
	grace := g.config.Grace
	g.mu.Unlock()
	if err != nil { // cannot be: checked when it was set
		sig = syscall.SIGTERM
	}
	g.end(cause, sig, grace)
}

// end begins to end the run, and returns at once. The first cause stays; a
// later call can only bring SIGKILL nearer.
func (g *guest) end(cause string, sig syscall.Signal, grace time.Duration) {
	deadline := time.Now().Add(grace)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cause == "" {
		g.cause = cause
	}
	if g.deadline.IsZero() {
		g.signal, g.deadline = sig, deadline
		go g.terminate()
	} else if deadline.Before(g.deadline) {
		g.deadline = deadline
		poke(g.hurry)
	}
	poke(g.changed)
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// terminate signals the tree until nothing is left of it: new processes are
// found by the next look.
func (g *guest) terminate() {
	g.awaitPause()
	asked := map[Proc]bool{}
	for wait := time.Millisecond; ; wait = min(2*wait, maxWait) {
		g.mu.Lock()
		deadline, sig, gone := g.deadline, g.signal, g.gone
		g.mu.Unlock()
		kill := !time.Now().Before(deadline)
		var living []Proc
		for _, s := range descendants(g.self.PID) {
			if s.alive() {
				living = append(living, s.proc())
			}
		}
		signalled := end(living, sig, kill, asked)
		if gone {
			g.leave(signalled)
		}
		if !kill {
			wait = min(wait, time.Until(deadline))
		}
		select {
		case <-g.empty:
			return
		case <-g.hurry:
		case <-time.After(wait):
		}
	}
}

// leave remembers what the agent has left behind.
func (g *guest) leave(procs []Proc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.left == nil {
		g.left = map[Proc]bool{}
	}
	for _, p := range procs {
		g.left[p] = true
	}
}

// awaitPause returns when no pause is under way: one that is sees the end and
// gives up, a later one does so at once.
func (g *guest) awaitPause() {
	g.tree.Lock()
	defer g.tree.Unlock()
}

// freeze makes the tree stand still: parents first, so that nothing is started
// behind the walk, and until two looks in a row find nothing that runs. The
// guest itself goes on: tmux would wake its own child at once.
func (g *guest) freeze() error {
	g.tree.Lock()
	defer g.tree.Unlock()
	deadline := time.Now().Add(freezeTimeout)
	var moving int
	for quiet := 0; quiet < 2; {
		if g.ending() {
			return &Error{Code: CodeEnding, Message: "the run is being ended"}
		}
		moving = 0
		for _, s := range descendants(g.self.PID) {
			if !s.stopped() {
				moving++
				syscall.Kill(s.pid, syscall.SIGSTOP)
			}
		}
		if moving == 0 {
			quiet++
			continue
		}
		quiet = 0
		if time.Now().After(deadline) {
			g.wake()
			return &Error{Code: CodeFailed, Message: fmt.Sprintf("%d processes do not stand still after %s", moving, freezeTimeout)}
		}
		time.Sleep(time.Millisecond)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.frozen {
		g.ranBefore, g.frozen = g.ran(), true
		poke(g.changed)
	}
	return nil
}

// thaw lets the tree go on.
func (g *guest) thaw() {
	g.tree.Lock()
	defer g.tree.Unlock()
	g.wake()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.frozen {
		g.resumed, g.frozen = time.Now(), false
		poke(g.changed)
	}
}

// wake continues children before their parents: a shell that looks after its
// jobs must not find them stopped.
func (g *guest) wake() {
	for _, s := range slices.Backward(descendants(g.self.PID)) {
		syscall.Kill(s.pid, syscall.SIGCONT)
	}
}

func (g *guest) ending() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause != ""
}
