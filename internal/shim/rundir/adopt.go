package rundir

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

// Adopt writes, in a shim's place, the directory of a run whose agent was started
// by somebody else: which process it is and since when. Such a run is claimed
// like any other, and no shim ever takes it up.
func Adopt(runDir string, c Config, agent proc.Process, since time.Time) error {
	if err := Prepare(runDir, c, nil); err != nil {
		return err
	}
	err := Claim(runDir, proc.Process{})
	if err == nil {
		err = WriteRun(runDir, proc.Process{}, agent, since)
	}
	if err != nil {
		return fmt.Errorf("adopt run %s: %w", c.Run, err)
	}
	return nil
}

// Restore writes the directory of a run again that was removed while its agent lives, or the rest
// of one that an earlier Restore has begun. Of a run without a shim, shim is the zero Process.
// It is an error if the directory has a claim of other processes.
func Restore(runDir string, shim, agent proc.Process, since time.Time) error {
	err := os.MkdirAll(runDir, 0o700)
	if err == nil {
		err = Claim(runDir, shim)
	}
	if errors.Is(err, os.ErrExist) {
		f, _ := ReadFacts(runDir) // what was half written is zero
		if (f.Shim.PID == 0 || f.Shim == shim) && (f.Agent.PID == 0 || f.Agent == agent) {
			err = nil
		}
	}
	if err == nil {
		err = WriteRun(runDir, shim, agent, since)
	}
	if err != nil {
		return fmt.Errorf("restore run %s: %w", runDir, err)
	}
	return nil
}

// Adopted reports whether the run is one of Adopt: its agent has no shim.
func (f Facts) Adopted() bool { return f.Claimed && f.Shim.PID == 0 && f.Agent.PID != 0 }

// EndAdopted writes down how an adopted run ended. What is written already stays.
func EndAdopted(runDir string, e Exit) error {
	if f, err := ReadFacts(runDir); err == nil && f.Exit != nil {
		return nil
	}
	if err := WriteExit(runDir, e); err != nil {
		return fmt.Errorf("write exit of run %s: %w", runDir, err)
	}
	return nil
}
