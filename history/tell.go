package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Tell appends what compute makes of the events there are, and returns it. Of all
// that tell in the folder at the same time one computes at a time, so that who
// tells only what has not been told, tells it once. Append waits for nobody.
func Tell(folder string, compute func(past []Event) []Event) (told []Event, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("tell what happened: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, fileName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("tell what happened: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }() // that ends the lock, too
	if err := await(f); err != nil {
		return nil, fmt.Errorf("tell what happened: %w", err)
	}
	past, err := Read(folder, time.Time{})
	if err != nil {
		return nil, err
	}
	log := Open(folder)
	for _, e := range compute(past) {
		if err := log.Append(e); err != nil {
			return told, err
		}
		told = append(told, e)
	}
	return told, nil
}

// await returns when nobody else has the file: it is locked until it is closed.
func await(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR):
			return fmt.Errorf("wait for others: %w", err)
		}
	}
}
