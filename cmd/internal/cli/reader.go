package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readerGone reports whether w is a pipe whose read end is closed. A command that follows
// something then ends at once, and not with its next write.
func readerGone(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLERR != 0
}
