package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/stamp"
)

// readJSON decodes a file that may have been tampered with. It follows no link, does not block on a
// fifo, and reads at most limit bytes.
func readJSON(path string, limit int64, v any) error {
	b, _, err := ReadFile(path, limit)
	if err != nil {
		return err
	}
	if len(bytes.Trim(b, "\x00")) == 0 {
		// A power cut can leave this of a file that was not synced.
		return &os.PathError{Op: "read", Path: path, Err: os.ErrNotExist}
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ReadFile reads a file of at most limit bytes and returns its stamp from when it was opened. It
// uses system calls, which take half as long as os.File, because every look reads a file of every
// session.
func ReadFile(path string, limit int64) ([]byte, stamp.Stamp, error) {
	fail := func(what string, err error) ([]byte, stamp.Stamp, error) {
		return nil, stamp.Stamp{}, &os.PathError{Op: what, Path: path, Err: err}
	}
	var fd int
	err := proc.IgnoringEINTR(func() (err error) {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		return err
	})
	if err != nil {
		return fail("open", err)
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return fail("stat", err)
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, stamp.Stamp{}, fmt.Errorf("%s: not a regular file", path)
	}
	if stat.Size > limit {
		return nil, stamp.Stamp{}, fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	b := make([]byte, stat.Size+1) // one more byte than its size, to detect the end
	read := 0
	for read < len(b) {
		var n int
		err := proc.IgnoringEINTR(func() (err error) {
			n, err = syscall.Read(fd, b[read:])
			return err
		})
		if err != nil {
			return fail("read", err)
		}
		if n == 0 {
			break
		}
		read += n
	}
	return b[:min(read, len(b)-1)], stamp.Of(&stat), nil
}

// create writes a 0600 file that did not exist before (os.ErrExist).
func create(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// WriteFile writes a 0600 file that readers see complete or not at all.
func WriteFile(path string, b []byte, durable bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if !durable {
		return nil
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
