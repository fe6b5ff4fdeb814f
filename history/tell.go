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
// tells only what has not been told, tells it once. Append waits for a second at most.
func Tell(folder string, compute func(past []Event) []Event) (told []Event, err error) {
	if err := makeFolder(folder); err != nil {
		return nil, fmt.Errorf("tell what happened: %w", err)
	}
	path := filepath.Join(folder, fileName)
	told, err = tell(path, folder, compute)
	if len(told) > 0 {
		bound(path, sizeLimit)
	}
	if err != nil {
		return told, fmt.Errorf("tell what happened: %w", err)
	}
	return told, nil
}

func tell(path, folder string, compute func(past []Event) []Event) (told []Event, err error) {
	f, err := openLocked(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, exclusive)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // that ends the lock, too
	past, err := Read(folder, time.Time{})
	if err != nil {
		return nil, err
	}
	for _, e := range compute(past) {
		if err := put(f, e); err != nil {
			return told, err
		}
		told = append(told, e)
	}
	return told, nil
}

// How a history is locked: by one that reads and then writes, or rewrites, and by those
// that only add to it.
const (
	exclusive = unix.LOCK_EX
	shared    = unix.LOCK_SH
)

// addWithin is how long an event waits for those who rewrite the history. Then it is
// added all the same: a process that is stopped meanwhile must not hold others up.
const addWithin = time.Second

// openLocked opens the history at a path and locks it until it is closed. If it was
// replaced meanwhile, the one that took its place is opened.
func openLocked(path string, flags, how int) (*os.File, error) {
	for began := time.Now(); ; {
		f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, err
		}
		ours, err := f.Stat()
		if err == nil && !ours.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", path)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if how == shared {
			err = tryUntil(f, began.Add(addWithin))
		} else {
			err = await(f)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := os.Stat(path); err == nil && os.SameFile(ours, now) {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
}

// tryUntil locks a file that others may share, or gives up at a time.
func tryUntil(f *os.File, end time.Time) error {
	for {
		err := unix.Flock(int(f.Fd()), shared|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock the history: %w", err)
		case !time.Now().Before(end):
			return nil
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitLimit is how long somebody else may keep a file locked. Nobody of agentform does so
// for more than some milliseconds, and whoever else does must not hold others up.
const awaitLimit = 10 * time.Second

// await returns when nobody else has the file: it is locked until it is closed.
func await(f *os.File) error {
	for end := time.Now().Add(awaitLimit); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("wait for others: %w", err)
		case time.Now().After(end):
			return fmt.Errorf("%s has been locked by somebody else for %v", f.Name(), awaitLimit)
		}
	}
}
