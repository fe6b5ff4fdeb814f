package guest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A process that starts its successor and ends is another one at every look, and
// for a moment, while it becomes another program, one without an environment.
func TestSweepEndsWhatFlees(t *testing.T) {
	dir := t.TempDir()
	hop, on := filepath.Join(dir, "hop"), filepath.Join(dir, "on")
	for path, text := range map[string]string{hop: "#!/bin/sh\n[ ! -e \"$1\" ] || \"$0\" \"$1\" &\n", on: ""} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mark := []byte(RunVariable + "=fleeing\x00")
	fleeing := func() bool {
		for range 20 { // a single look may miss it
			for _, pid := range pids() {
				if env, _ := environ(pid); bytes.Contains(env, mark) {
					return true
				}
			}
		}
		return false
	}
	for i := range 40 {
		cmd := exec.Command(hop, on)
		cmd.Env = append(os.Environ(), RunVariable+"=fleeing")
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if left, err := Sweep("fleeing", 0, "KILL"); err != nil || len(left) > 0 {
			t.Fatalf("left %v: %v", left, err)
		}
		if fleeing() {
			t.Errorf("sweep %d: it goes on", i)
			break
		}
	}
	if err := os.Remove(on); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); fleeing() && time.Now().Before(until); {
	}
}

func TestFindKnowsWhatHasNoEnvironment(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	began := time.Now()
	for p := range Find(func(environ []byte) bool { return bytes.Contains(environ, []byte("AGENTFORM_NOBODY=1\x00")) }) {
		t.Errorf("found %v", p)
	}
	if took := time.Since(began); took >= settleTimeout {
		t.Errorf("it took %s", took)
	}
}

func TestStopEndsWhatFlees(t *testing.T) {
	r := prepare(t, `echo '[ ! -e on ] || sh hop &' > hop; touch on; sh hop; touch up; exec sleep 60`, nil)
	cmd, _ := r.running()
	r.stop("SIGTERM", 100*time.Millisecond)
	if _, exit := r.ended(cmd); exit.Cause != CauseRequested {
		t.Errorf("exit is %+v", exit)
	}
}
