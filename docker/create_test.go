package docker

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
)

// What an engine says that was killed while it started a container is told with what
// to do.
func TestUnstuck(t *testing.T) {
	a := session.Single("api")
	for said, want := range map[string]string{
		"Error response from daemon: task 1510cfbcfb3f: already exists":   `agentform apply --replace session.api`,
		"Error response from daemon: driver failed programming something": "docker: Error response",
	} {
		if err := unstuck(errors.New(said), a); !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if err := unstuck(nil, a); err != nil {
		t.Error(err)
	}
	cut := &url.Error{Op: "Post", URL: "http://%2Fvar%2Frun%2Fdocker.sock/v1.41/containers/x/start", Err: context.Canceled}
	if err := unstuck(cut, a); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "%2F") {
		t.Errorf("interrupted: %v", err)
	}
}

// TestSilentInit shows that a start goes on if the container's init answers no look for
// longer than a look may take, as on a machine that starts many containers at once.
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
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- s.awaitAgent(ctx, s.dirs.init()) }()
	select {
	case err := <-started:
		t.Fatalf("it ended with %v before the agent started", err)
	case <-time.After(4 * time.Second): // a look takes at most three
	}
	self := proc.Process{PID: os.Getpid(), Start: 1}
	if err := errors.Join(rundir.Claim(s.launch.RunDir, self), rundir.WriteRun(s.launch.RunDir, self, self, time.Now())); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Errorf("the agent started, and the start says %v", err)
	}
}
