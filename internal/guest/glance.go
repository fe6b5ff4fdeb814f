package guest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// Glance is ReadFacts for a look at many runs at once: it reads only who runs and
// how it ended, a third of the work, and leaves Spec and Socket empty.
func Glance(runDir string) (Facts, error) {
	var r running
	if err := readJSON(filepath.Join(runDir, runFile), factLimit, &r); err != nil || r.Agent.PID <= 0 {
		return readFacts(runDir, false)
	}
	var stat syscall.Stat_t
	if err := syscall.Lstat(filepath.Join(runDir, exitFile), &stat); !errors.Is(err, os.ErrNotExist) {
		return readFacts(runDir, false)
	}
	return Facts{Claimed: true, Guest: r.Guest, Agent: r.Agent, BootID: r.BootID, StartedAt: r.StartedAt}, nil
}
