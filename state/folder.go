package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// MakeFolder makes a project's data folder unless it is there, for its owner alone.
// Git takes nothing in a folder that it made: a state and worktrees that were
// committed by `git add -A` would be nobody's wish. What is there is left as it is.
func MakeFolder(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	switch err := os.Mkdir(dir, 0o700); {
	case errors.Is(err, os.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("make data folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	return nil
}
