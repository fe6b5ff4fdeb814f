package project

import "golang.org/x/sys/unix"

// memory is how much the machine has, in bytes; 0: it cannot be told.
func memory() uint64 {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return size
}
