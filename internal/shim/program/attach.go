package program

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
)

// attach executes the command, and returns only if that fails. When the docker command is killed,
// an engine keeps running what it executes in a container. So the command inherits a connection to
// the init, which ends the processes with the client's mark as soon as the kernel closes the
// connection.
func attach(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim attach DIRECTORY COMMAND...")
		return shim.ExitUsage
	}
	program, err := exec.LookPath(args[1])
	if err != nil {
		shim.PrintError("%v", err)
		return shim.ExitNotFound
	}
	self, _ := proc.ReadStat(os.Getpid())
	client := fmt.Sprintf("%d-%d", self.PID, self.Start)
	// Without the init, or with one too old for this, attach the terminal all the same.
	if held, err := (shim.Init{Dir: args[0]}).Hold(client); err == nil {
		defer runtime.KeepAlive(held)
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, held.Fd(), syscall.F_SETFD, 0) // clear close-on-exec
	}
	if err := os.Setenv(shim.ClientVariable, client); err == nil {
		err = syscall.Exec(program, args[1:], os.Environ())
		shim.PrintError("%s: %v", program, err)
	}
	return shim.ExitCannot
}
