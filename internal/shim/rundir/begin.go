package rundir

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Begin creates the directory of a run that is about to start and locks it until end is called, for
// Begun. It fails if another process is starting the run.
func Begin(dir string) (end func(), err error) {
	err = os.MkdirAll(dir, 0o700)
	var f *os.File
	if err == nil {
		f, err = os.Open(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("create the run's directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	return func() { f.Close() }, nil
}

// Begun reports whether a process on this machine is starting the run of a directory: one that has
// locked it with Begin and is alive. Without a directory, known is false.
func Begun(dir string) (begun, known bool) {
	f, err := os.Open(dir)
	if err != nil {
		return false, false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil, true
}
