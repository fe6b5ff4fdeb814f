package layout

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// OpenRegular opens a file for reading, with flags such as O_NOFOLLOW. Anything but a
// regular file is an error: a named pipe would block whoever reads it.
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
