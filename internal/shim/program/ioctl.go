package program

import (
	"syscall"
	"unsafe"
)

func ioctl(fd int, request uintptr, arg *int32) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(arg)))
	return errno
}
