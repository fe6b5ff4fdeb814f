package program

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
)

var runs atomic.Int64

// room is a prepared run with its directory, socket, and workspace.
type room struct {
	t      *testing.T
	dir    string // the run's
	work   string // the agent's directory
	config rundir.Config
}

// prepare prepares a run of a shell script.
func prepare(t *testing.T, script string, secrets map[string]string, edit ...func(*rundir.Config)) *room {
	t.Helper()
	top, err := os.MkdirTemp("", "g") // short, for socket paths
	if err != nil {
		t.Fatal(err)
	}
	run := fmt.Sprintf("%08x%08x", os.Getpid(), runs.Add(1))
	r := &room{t: t, dir: filepath.Join(top, "run"), work: filepath.Join(top, "work")}
	if err := os.Mkdir(r.work, 0o700); err != nil {
		t.Fatal(err)
	}
	r.config = rundir.Config{
		Run: run, Address: "session.test", Dir: r.work, Socket: filepath.Join(top, "g-"+run),
		Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}, Signal: "SIGTERM",
		Grace: 10 * time.Second, Spec: []byte(`{"a":1}`),
	}
	for _, e := range edit {
		e(&r.config)
	}
	if err := rundir.Prepare(r.dir, r.config, secrets); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left, err := proc.Sweep(run, 0, ""); err != nil {
			t.Errorf("left after the test: %v: %v", left, err)
		}
		os.RemoveAll(top)
	})
	return r
}

func TestDiscard(t *testing.T) {
	r := prepare(t, "true", map[string]string{"TOKEN": "x"})
	for range 2 {
		if err := rundir.Discard(r.dir); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Dir(r.config.Socket) + "/s-*"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}
