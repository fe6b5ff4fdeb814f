package fileid

import "golang.org/x/sys/unix"

func identity(path string) (inode uint64, born int64, ok bool) {
	var s unix.Statx_t
	var err error = unix.EINTR
	for err == unix.EINTR {
		err = unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &s)
	}
	if err != nil {
		return 0, 0, false
	}
	if s.Mask&unix.STATX_BTIME != 0 {
		born = s.Btime.Sec*1e9 + int64(s.Btime.Nsec)
	}
	return s.Ino, born, true
}
