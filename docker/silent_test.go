//go:build real

package docker

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// TestSilentInit checks that a start continues while the container's init answers no look in time,
// as on a machine that starts many containers.
func TestSilentInit(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const run = "0123456789abcdef0123456789abcdef"
	s := start{dirs: dirs{runs: root, sockets: root}, launch: session.Launch{Mark: session.Mark{Run: run}, RunDir: filepath.Join(root, run)}}
	if err := os.Mkdir(s.launch.RunDir, 0o700); err != nil {
		t.Fatal(err)
	}
	init, err := net.Listen("unix", filepath.Join(root, shim.InitSocket)) // answers no request
	if err != nil {
		t.Fatal(err)
	}
	defer init.Close()
	started := make(chan error, 1)
	go func() { started <- s.awaitAgent(t.Context(), s.dirs.init()) }()
	select {
	case err := <-started:
		t.Fatalf("it ended with %v before the agent started", err)
	case <-time.After(4 * time.Second): // a look takes at most three
	}
	self := proc.Process{PID: os.Getpid(), Start: 1}
	if err := errors.Join(rundir.Claim(s.launch.RunDir, self), rundir.WriteRun(s.launch.RunDir, self, self, time.Now())); err != nil {
		t.Fatal(err)
	}
	if err := wait.Receive(t, "the start returns", started); err != nil {
		t.Errorf("the agent started, and the start says %v", err)
	}
}
