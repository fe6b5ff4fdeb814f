package initd

import (
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
)

const (
	// maxHolds is how many terminals an init watches at once.
	maxHolds = shim.MaxConns / 2
	// lateClient is how long an engine may take to start a command it was asked to execute.
	lateClient = 5 * time.Second
	// clientGrace is how long a client may take to detach.
	clientGrace = time.Second
)

// hold counts one more held terminal, until it is released.
func (k *container) hold(q shim.InitRequest) (*shim.Hold, error) {
	if !proc.ValidRun(q.Client) || q.Silence < 0 {
		return nil, &shim.Error{Code: shim.CodeInvalid, Message: "the client has no valid name"}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holds >= maxHolds {
		return nil, &shim.Error{Code: shim.CodeBusy, Message: "too many terminals are attached"}
	}
	k.holds++
	return &shim.Hold{Silence: q.Silence, Release: func() {
		k.mu.Lock()
		k.holds--
		k.mu.Unlock()
		go detach(q.Client)
	}}, nil
}

// detach ends the processes of a client whose terminal is gone, including one that the engine
// starts only now.
func detach(client string) {
	for begun := time.Now(); time.Since(begun) < lateClient; time.Sleep(100 * time.Millisecond) {
		signal := syscall.SIGHUP
		if time.Since(begun) > clientGrace {
			signal = syscall.SIGKILL
		}
		for p := range proc.Find(func(environ []byte) bool { return proc.Getenv(environ, shim.ClientVariable) == client }) {
			syscall.Kill(p.PID, signal)
		}
	}
}
