package program

import (
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/agentform/agentform/internal/shim"
)

// relay connects standard input and output to a socket, for a caller on another machine that can
// execute commands here but cannot reach the socket. It returns when the server closes the
// connection, as it does with silent clients.
func relay(args []string) int {
	if len(args) != 1 || args[0] == "" {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim relay SOCKET")
		return shim.ExitUsage
	}
	conn, err := shim.Connect(args[0])
	if err != nil {
		shim.PrintError("%v", err)
		return shim.ExitCannot
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, os.Stdin) // an error ends the requests, too
		if raw, err := conn.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_WR) })
		}
	}()
	if _, err := io.Copy(os.Stdout, conn); err != nil {
		shim.PrintError("%v", err)
		return shim.ExitCannot
	}
	return 0
}
