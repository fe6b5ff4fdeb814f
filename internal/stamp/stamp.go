package stamp

import (
	"os"
	"syscall"
	"time"
)

// Stamp is what a file or folder was at one moment. Two of the same path are equal
// if it has not been written, put in another's place, nor, of a folder, been given or
// robbed of an entry.
type Stamp struct {
	device, inode uint64
	mode          uint32
	size          int64
	changed       int64 // ns since 1970
}

// Granule is above the coarsest time of the last change that a file system keeps: FAT's
// is 2 s, that of an ext4 with small inodes and of HFS+ 1 s, a kernel's tick 10 ms.
const Granule = 2100 * time.Millisecond

// Lstat is the stamp of what stands at a path, of a link itself. The error is an
// *os.PathError.
func Lstat(path string) (Stamp, error) { return ask("lstat", path, syscall.Lstat) }

// Stat is Lstat that follows a link.
func Stat(path string) (Stamp, error) { return ask("stat", path, syscall.Stat) }

func ask(what, path string, call func(string, *syscall.Stat_t) error) (Stamp, error) {
	var s syscall.Stat_t
	err := call(path, &s)
	for err == syscall.EINTR { //nolint:errorlint // an Errno of a call, compared for every file of every look
		err = call(path, &s)
	}
	if err != nil {
		return Stamp{}, &os.PathError{Op: what, Path: path, Err: err}
	}
	return Of(&s), nil
}

// Of is the stamp of what the system told.
func Of(s *syscall.Stat_t) Stamp {
	return Stamp{device: uint64(s.Dev), inode: s.Ino, mode: uint32(s.Mode), size: s.Size, changed: changed(s)} //nolint:unconvert // the types are others on macOS
}

// Settled reports whether what happens after a moment is sure to change the stamp: the
// last change was more than a Granule before. Of a clock that was set back it may be
// long until that is so.
func (s Stamp) Settled(at time.Time) bool { return at.UnixNano()-s.changed > int64(Granule) }

// Size returns how many bytes the file has.
func (s Stamp) Size() int64 { return s.size }

// Place is the stamp without what is in the file or folder: it stays the same for as
// long as the same one stands there.
func (s Stamp) Place() Stamp {
	return Stamp{device: s.device, inode: s.inode, mode: s.mode & syscall.S_IFMT}
}
