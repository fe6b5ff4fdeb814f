package fileid

import "syscall"

func identity(path string) (inode uint64, born int64, ok bool) {
	var s syscall.Stat_t
	var err error = syscall.EINTR
	for err == syscall.EINTR { //nolint:errorlint // an Errno of a call
		err = syscall.Stat(path, &s)
	}
	if err != nil {
		return 0, 0, false
	}
	return s.Ino, s.Birthtimespec.Nano(), true
}
