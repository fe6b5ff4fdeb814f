package fileid

import (
	"os"
	"syscall"
)

func identity(path string) (inode uint64, born int64, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, false
	}
	s := info.Sys().(*syscall.Stat_t)
	return s.Ino, s.Birthtimespec.Nano(), true
}
