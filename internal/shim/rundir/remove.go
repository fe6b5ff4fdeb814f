package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agentform/agentform/internal/proc"
)

// Remove removes the directory of a run that has ended, and the socket that a
// killed shim left. A directory that a container shares is removed with the link to
// it. It is not an error if there is nothing.
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
