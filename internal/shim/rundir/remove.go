package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentform/agentform/internal/proc"
)

// Remove removes the directory of an ended run, and the socket of a killed shim. If a container
// shares the directory, Remove removes the link and its target. It is not an error if nothing
// exists.
func Remove(runDir string) error {
	run := filepath.Base(runDir)
	if !proc.ValidRun(run) {
		return fmt.Errorf("remove run: invalid run id %q", run)
	}
	if to, err := os.Readlink(runDir); err == nil {
		if filepath.Base(to) != run {
			return fmt.Errorf("remove run: %s is a link to %s, which is not a directory of that run", runDir, to)
		}
		if err := os.RemoveAll(to); err != nil {
			return fmt.Errorf("remove run: %w", err)
		}
	} else if c, err := Load(runDir); err == nil && c.Run == run && filepath.Base(c.Socket) == "g-"+run {
		if err := Discard(runDir); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(runDir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove run: %w", err)
	}
	return nil
}
