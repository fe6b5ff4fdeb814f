package rundir

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

// Adopt writes the directory of a run whose agent was started without a shim: its process and start
// time. Such a run is claimed like any other, and no shim ever takes it.
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

// Restore recreates the directory of a run that was removed while its agent is running, or
// completes an earlier Restore. Without a shim, shim is the zero Process. It is an error if other
// processes have claimed the directory.
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

// Adopted reports whether Adopt created the run: its agent has no shim.
func (f Facts) Adopted() bool { return f.Claimed && f.Shim.PID == 0 && f.Agent.PID != 0 }

// EndAdopted records the exit of an adopted run, unless one is recorded already.
func EndAdopted(runDir string, e Exit) error {
	if f, err := ReadFacts(runDir); err == nil && f.Exit != nil {
		return nil
	}
	if err := WriteExit(runDir, e); err != nil {
		return fmt.Errorf("write exit of run %s: %w", runDir, err)
	}
	return nil
}
