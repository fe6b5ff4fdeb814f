package shim

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// AttachMode is the argument that makes the guest's program attach a terminal to a
// container. It stands before the directory of the keeper's socket and a command, such as
// docker exec.
const AttachMode = "attach"

// ClientVariable is the environment variable that marks the processes of one attached
// terminal. The command of AttachMode has to pass it on into the container.
const ClientVariable = "AGENTFORM_CLIENT"

// attach becomes the command, and returns only if that fails. An engine lets what it
// executes in a container run on when the docker command is killed. So the command
// inherits a connection to the keeper, which ends what carries the client's mark as
// soon as the kernel has closed the connection.
func attach(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: agentform-shim attach FOLDER COMMAND...")
		return codeUsage
	}
	program, err := exec.LookPath(args[1])
	if err != nil {
		tell("%v", err)
		return codeNotFound
	}
	self, _ := look(os.Getpid())
	client := fmt.Sprintf("%d-%d", self.pid, self.start)
	// Without the keeper, or with one of an earlier agentform, which does not know how,
	// the terminal is attached all the same.
	if held, err := (Keeper{Dir: args[0]}).hold(client); err == nil {
		defer runtime.KeepAlive(held)
		_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, held.Fd(), syscall.F_SETFD, 0) // not close-on-exec
	}
	if err := os.Setenv(ClientVariable, client); err == nil {
		err = syscall.Exec(program, args[1:], os.Environ())
		tell("%s: %v", program, err)
	}
	return codeCannot
}

// hold asks the keeper to end the processes of a client when the connection that it
// returns is closed.
func (k Keeper) hold(client string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	conn, _, err := k.open(ctx, lookLine, keeperRequest{Op: opHold, Client: client})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.(*net.UnixConn).File()
}

const (
	// maxHolds is how many terminals a keeper watches at once.
	maxHolds = maxConns / 2
	// lateClient is how long an engine may take to start what it was told to execute.
	lateClient = 5 * time.Second
	// clientGrace is how long a client may take to detach.
	clientGrace = time.Second
)

// hold watches one more terminal, until release is called.
func (k *keeper) hold(client string) (release func(), err error) {
	if !isRun(client) {
		return nil, &Error{Code: CodeInvalid, Message: "the client has no valid name"}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holds >= maxHolds {
		return nil, &Error{Code: CodeBusy, Message: "too many terminals are attached"}
	}
	k.holds++
	return func() {
		k.mu.Lock()
		k.holds--
		k.mu.Unlock()
		go detach(client)
	}, nil
}

// detach ends the processes of a client whose terminal has left, also of one that
// the engine starts only now.
func detach(client string) {
	for begun := time.Now(); time.Since(begun) < lateClient; time.Sleep(100 * time.Millisecond) {
		signal := syscall.SIGHUP
		if time.Since(begun) > clientGrace {
			signal = syscall.SIGKILL
		}
		for p := range Find(func(environ []byte) bool { return valueOf(environ, ClientVariable) == client }) {
			syscall.Kill(p.PID, signal)
		}
	}
}
