package tmux

import (
	"net"
	"os"
	"syscall"
)

// listener returns the process of this user that listens at the other end of a connection, or 0 if
// there is none.
func listener(conn net.Conn) (pid int) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		// For a connected socket this is the process that called listen(2); see unix(7).
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil && int(cred.Uid) == os.Geteuid() {
			pid = int(cred.Pid)
		}
	})
	return pid
}
