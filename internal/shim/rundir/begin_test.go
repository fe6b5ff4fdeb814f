package rundir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/internal/shim/rundir"
)

// starting is the environment variable with the directory of the run that TestBegun's process
// starts.
const starting = "AGENTFORM_STARTING"

// TestBegun checks that one process at a time starts a run, until it has started the run or is
// dead.
func TestBegun(t *testing.T) {
	if dir := os.Getenv(starting); dir != "" {
		if _, err := rundir.Begin(dir); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("begun\n")
		select {}
	}
	dir := filepath.Join(t.TempDir(), "runs", "0123456789abcdef")
	want := func(begun, known bool) {
		t.Helper()
		if b, k := rundir.Begun(dir); b != begun || k != known {
			t.Errorf("begun: %v, known: %v, want %v and %v", b, k, begun, known)
		}
	}
	want(false, false)
	end, err := rundir.Begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	want(true, true)
	if _, err := rundir.Begin(dir); err == nil {
		t.Error("it was begun twice")
	}
	end()
	want(false, true)

	other := exec.Command(os.Args[0], "-test.run=^TestBegun$")
	other.Env = append(os.Environ(), starting+"="+dir)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, len("begun\n"))
	if _, err := out.Read(line); err != nil || string(line) != "begun\n" {
		t.Errorf("%q, %v", line, err)
	}
	want(true, true)
	if err := other.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = other.Wait() // it was killed
	want(false, true)
}
