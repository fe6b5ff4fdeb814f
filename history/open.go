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

// readLimit bounds how many bytes of a history are read, from its end.
const readLimit = 8 * sizeLimit

// openRead follows no link: the agent may have put anything there.
func openRead(path string) (*os.File, error) { return layout.OpenRegular(path, syscall.O_NOFOLLOW) }

// linesFrom returns whole lines from an offset, which is later if more than readLimit follow.
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

// makeDir refuses a link in the place of the directory.
func makeDir(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		info, err = os.Lstat(dir)
	}
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory (%s): move it away", dir, info.Mode())
	}
	return err
}
