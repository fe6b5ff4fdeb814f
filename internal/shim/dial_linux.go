package shim

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/agentform/agentform/internal/proc"
)

// dial connects to a socket without following a link in its place, since a container may write to
// its directory. The path may be of any length.
func dial(path string) (*os.File, error) {
	const oPath = 0x200000 // O_PATH: named, not opened
	var fd int
	err := proc.IgnoringEINTR(func() (err error) {
		fd, err = syscall.Open(path, oPath|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return nil, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return nil, fmt.Errorf("%s: not a socket", path)
	}
	conn, err := Connect("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	return conn, nil
}
