package proc

import (
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"
)

// EndTree ends a process without a shim and its descendants with the signal and, after the grace,
// SIGKILL. It returns when a look finds none of them, and reports whether SIGKILL was needed. It
// misses descendants that left the tree before the first look, but not those that leave later. It
// never ends the calling process.
//
// An interactive shell ignores SIGTERM. Once it has no descendants left, a root that ignores the
// signal gets SIGHUP, as when its terminal closes.
func EndTree(ctx context.Context, root Process, signal string, grace time.Duration, shared func(argv []string) bool) (killed bool, err error) {
	sig, err := ParseSignal(signal)
	if err != nil {
		return false, fmt.Errorf("end process %d: %w", root.PID, err)
	}
	known := []Process{root}
	asked := map[Process]bool{}
	hungUp := false
	deadline := time.Now().Add(grace)
	for wait := time.Millisecond; ; wait = min(2*wait, MaxWait) {
		var left []Process
		known, left = tree(known, shared)
		if len(left) == 0 {
			return killed, nil
		}
		now := time.Now()
		if now.After(deadline.Add(KillTimeout)) {
			return killed, fmt.Errorf("end process %d: %d processes outlive SIGKILL", root.PID, len(left))
		}
		kill := !now.Before(deadline)
		killed = killed || kill
		Signal(left, sig, kill, asked)
		if !hungUp && len(left) == 1 && left[0] == root && ignores(root.PID, sig) {
			syscall.Kill(root.PID, syscall.SIGHUP)
			hungUp = true
		}
		select {
		case <-ctx.Done():
			return killed, fmt.Errorf("end process %d: %w", root.PID, ctx.Err())
		case <-time.After(wait):
		}
	}
}

// tree adds the descendants of the running known processes, except shared ones, and returns all and
// those that are running.
func tree(known []Process, shared func(argv []string) bool) (all, living []Process) {
	self := os.Getpid()
	seen := make(map[Process]bool, len(known))
	for _, p := range known {
		seen[p] = true
	}
	for i := 0; i < len(known); i++ {
		p := known[i]
		if p.PID == self || !p.Alive() {
			continue
		}
		living = append(living, p)
		left := map[int]bool{}
		for _, s := range Descendants(p.PID) { // parents first
			if seen[s.Process] {
				continue
			}
			if left[s.Parent] || shared != nil && shared(Argv(s.PID)) {
				left[s.PID] = true
				continue
			}
			seen[s.Process] = true
			known = append(known, s.Process)
		}
	}
	return known, living
}

// KillTimeout is how long processes may outlive SIGKILL before that is an error. They wait for a
// disk or a network file system.
const KillTimeout = 5 * time.Second

// MaxWait is the longest wait between two looks at the tree.
const MaxWait = 50 * time.Millisecond

// AwaitExit waits until a process has exited, and kills it after patience.
func AwaitExit(ctx context.Context, p Process, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for wait := time.Millisecond; p.Alive(); wait = min(2*wait, MaxWait) {
		if time.Now().After(deadline) {
			syscall.Kill(p.PID, syscall.SIGKILL)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d: %w", p.PID, ctx.Err())
		case <-time.After(wait):
		}
	}
	return nil
}

// Signal sends each process sig once, or with kill SIGKILL, parents before their children, and
// returns the processes that it signalled. It then continues them, children first: when a stopped
// group loses its parent, the kernel sends it SIGHUP.
func Signal(procs []Process, sig syscall.Signal, kill bool, asked map[Process]bool) (signalled []Process) {
	for _, p := range procs {
		switch {
		case kill:
			syscall.Kill(p.PID, syscall.SIGKILL)
		case asked[p]:
			continue
		default:
			syscall.Kill(p.PID, sig)
		}
		asked[p] = true
		signalled = append(signalled, p)
	}
	if !kill {
		for _, p := range slices.Backward(signalled) {
			syscall.Kill(p.PID, syscall.SIGCONT)
		}
	}
	return signalled
}
