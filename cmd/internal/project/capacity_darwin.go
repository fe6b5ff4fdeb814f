package project

import "golang.org/x/sys/unix"

func memory() uint64 {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return size
}
