package shim

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Adopt writes, in a guest's place, the folder of a run whose agent was started
// by somebody else: which process it is and since when. Such a run is claimed
// like any other, and no guest ever takes it up.
func Adopt(runDir string, c Config, agent Proc, since time.Time) error {
	if err := Prepare(runDir, c, nil); err != nil {
		return err
	}
	boot := BootID()
	err := writeFact(runDir, claimFile, claimed{BootID: boot}, create)
	if err == nil {
		err = writeFact(runDir, runFile, running{BootID: boot, Agent: agent, StartedAt: since.UTC()}, durably)
	}
	if err != nil {
		return fmt.Errorf("adopt run %s: %w", c.Run, err)
	}
	return nil
}

// Adopted reports whether the run is one of Adopt: its agent has no guest.
func (f Facts) Adopted() bool { return f.Claimed && f.Guest.PID == 0 && f.Agent.PID != 0 }

// WriteExit writes down how an adopted run ended, which no guest does. What is
// written already stays.
func WriteExit(runDir string, e Exit) error {
	if f, err := ReadFacts(runDir); err == nil && f.Exit != nil {
		return nil
	}
	if err := writeFact(runDir, exitFile, e, durably); err != nil {
		return fmt.Errorf("write exit of run %s: %w", runDir, err)
	}
	return nil
}

// EndTree ends a process that has no guest and everything below it: with the
// signal, then, after the grace, with SIGKILL. It returns when a look finds
// nothing of it, and reports whether SIGKILL was needed. What was started below
// it and left the tree before the first look is not found; what leaves later is.
// It never ends the calling process.
//
// An interactive shell ignores SIGTERM: once nothing is left below it, a process
// that does is hung up on, as when its terminal closes.
func EndTree(ctx context.Context, root Proc, signal string, grace time.Duration) (killed bool, err error) {
	sig, err := stopSignal(signal)
	if err != nil {
		return false, fmt.Errorf("end process %d: %w", root.PID, err)
	}
	known := []Proc{root}
	asked := map[Proc]bool{}
	hungUp := false
	deadline := time.Now().Add(grace)
	for wait := time.Millisecond; ; wait = min(2*wait, maxWait) {
		var left []Proc
		known, left = tree(known)
		if len(left) == 0 {
			return killed, nil
		}
		now := time.Now()
		if now.After(deadline.Add(killTimeout)) {
			return killed, fmt.Errorf("end process %d: %d processes outlive SIGKILL", root.PID, len(left))
		}
		kill := !now.Before(deadline)
		killed = killed || kill
		end(left, sig, kill, asked)
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

// tree adds to the known processes what is below those that live, and tells
// which live.
func tree(known []Proc) (all, living []Proc) {
	self := os.Getpid()
	seen := make(map[Proc]bool, len(known))
	for _, p := range known {
		seen[p] = true
	}
	for i := 0; i < len(known); i++ {
		p := known[i]
		if p.PID == self || !p.Alive() {
			continue
		}
		living = append(living, p)
		for _, s := range descendants(p.PID) {
			if d := s.proc(); !seen[d] {
				seen[d] = true
				known = append(known, d)
			}
		}
	}
	return known, living
}
