package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readerGone reports whether nobody reads any more what is written to a pipe: whoever
// follows something has nobody to follow it for.
func readerGone(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n == 1 && fds[0].Revents&unix.POLLERR != 0
}
