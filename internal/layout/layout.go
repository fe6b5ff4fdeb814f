// Package layout makes the directories in which agentform keeps its files.
package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// MakeDataDir makes a project's data directory, for its owner alone, unless it
// exists. Git ignores all of it, also where the directory existed before: it holds
// the state, worktrees and what runs were started with, none of which belongs into
// a commit. Every function that may be the first to write below the data directory
// calls MakeDataDir.
func MakeDataDir(dir string) error {
	_, err := os.Lstat(dir)
	existed := err == nil
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	// On a full or read-only disk sessions still have to be stopped.
	if err := Ignore(dir); err != nil && !existed {
		return fmt.Errorf("make data folder: %w", err)
	}
	return nil
}

// Ignore makes git ignore everything in dir, unless dir has a .gitignore.
func Ignore(dir string) error {
	path := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil // one that cannot be looked at exists
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}
