package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/agentform/agentform/internal/layout"
)

// readLimit bounds how many bytes of a history are read, from its end. A history that
// agentform wrote is smaller.
const readLimit = 8 * sizeLimit

// openRead opens a regular file in a session's directory for reading. The agent may have
// put anything there, so it follows no link.
func openRead(path string) (*os.File, error) { return layout.OpenRegular(path, syscall.O_NOFOLLOW) }

// linesFrom returns a reader of whole lines from an offset, and its start, which is later
// if more than readLimit bytes follow.
func linesFrom(f *os.File, at int64) (lines *bufio.Reader, from int64, err error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	from = max(at, fi.Size()-readLimit)
	lines = bufio.NewReader(io.NewSectionReader(f, from, fi.Size()-from))
	if from > at {
		cut, err := lines.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			from += int64(len(cut))
			cut, err = lines.ReadSlice('\n')
		}
		if from += int64(len(cut)); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
	}
	return lines, from, nil
}

// makeDir creates a session's directory. A link in its place is an error.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory (%s): move it away", dir, info.Mode())
	}
	return err
}
