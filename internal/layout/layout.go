// Package layout has the paths of agentform's files, and creates their directories.
package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MakeDataDir makes a project's data directory, for its owner alone, unless it exists. Git
// ignores all of it, also where the directory existed before. Every function that may be
// the first to write below the data directory calls MakeDataDir.
func MakeDataDir(dir string) error {
	_, err := os.Lstat(dir)
	existed := err == nil
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("create data directory: %w", err)
	}
	// On a full or read-only disk sessions still have to be stopped.
	if err := Ignore(dir); err != nil && !existed {
		return fmt.Errorf("create data directory: %w", err)
	}
	return nil
}

// Ignore makes git ignore everything in dir, unless dir has a .gitignore that says
// something. An empty one is what a full disk or a killed process left.
func Ignore(dir string) error {
	path := filepath.Join(dir, ".gitignore")
	switch fi, err := os.Lstat(path); {
	case err == nil && (fi.Size() > 0 || !fi.Mode().IsRegular()):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil // one that cannot be inspected exists
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// OpenRegular opens a file for reading, with flags such as O_NOFOLLOW. Anything but a regular file
// is an error: a named pipe would block its reader.
func OpenRegular(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file (%s): move it away", path, info.Mode())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
