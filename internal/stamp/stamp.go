package stamp

import (
	"encoding/binary"
	"hash/fnv"
	"os"
	"syscall"
	"time"
)

// Stamp is the state of a file or directory at one time. Two stamps of a path are equal if
// meanwhile it was not written or replaced, and no entry of it was created or removed.
type Stamp struct {
	device, inode uint64
	mode          uint32
	size          int64
	changed       int64 // ns since 1970
}

// Granule exceeds the coarsest time stamp of a file system: FAT's is 2 s.
const Granule = 2100 * time.Millisecond

// Lstat returns the stamp of a path without following a link. The error is an *os.PathError.
func Lstat(path string) (Stamp, error) { return ask("lstat", path, syscall.Lstat) }

// Stat returns the stamp of a path, following a link.
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

// Of returns the stamp for the result of a system call.
func Of(s *syscall.Stat_t) Stamp {
	return Stamp{device: uint64(s.Dev), inode: s.Ino, mode: uint32(s.Mode), size: s.Size, changed: changed(s)} //nolint:unconvert // the types are others on macOS
}

// Settled reports whether any later change is sure to change the stamp, because the last one was
// more than a Granule before at.
func (s Stamp) Settled(at time.Time) bool { return at.UnixNano()-s.changed > int64(Granule) }

// Append appends the stamp to b, for a digest of several stamps.
func (s Stamp) Append(b []byte) []byte {
	for _, n := range []uint64{s.device, s.inode, uint64(s.mode), uint64(s.size), uint64(s.changed)} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// Digest returns a digest of the stamps of files, and whether all of them are Settled at a time. A
// missing file has the zero stamp.
func Digest(at time.Time, files ...string) (sum uint64, settled bool) {
	digest, settled := fnv.New64a(), true
	var b []byte
	for _, file := range files {
		x, _ := Lstat(file)
		settled = settled && x.Settled(at)
		b = x.Append(append(b[:0], file...))
		_, _ = digest.Write(b) // never fails
	}
	return digest.Sum64(), settled
}

const (
	// mostDirectories limits the directories whose stamps are compared.
	mostDirectories = 64
	// mostEntries limits what is read of a directory.
	mostEntries = 1000
)

// Directories returns the names of the directories in the top of a checkout, except git's.
func Directories(top string) (names []string) {
	f, err := os.Open(top)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(mostEntries)
	for _, e := range entries {
		if e.IsDir() && e.Name() != ".git" && len(names) < mostDirectories {
			names = append(names, e.Name())
		}
	}
	return names
}

// Size returns the size of the file in bytes.
func (s Stamp) Size() int64 { return s.size }

// Place returns the stamp without the content. It stays the same while the same file exists.
func (s Stamp) Place() Stamp {
	return Stamp{device: s.device, inode: s.inode, mode: s.mode & syscall.S_IFMT}
}
