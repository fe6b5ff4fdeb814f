//go:build real && (linux || darwin)

package proc

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestArgv(t *testing.T) {
	if got := Argv(os.Getpid()); !slices.Equal(got, os.Args) {
		t.Errorf("its own command line is %q, want %q", got, os.Args)
	}
	if got := Argv(1 << 30); got != nil {
		t.Errorf("of no process: %q", got)
	}
	want := []string{"sh", "-c", "read x", "two words", ""}
	c := exec.Command(want[0], want[1:]...)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Wait() }()
	defer in.Close()
	for end := time.Now().Add(time.Minute); !slices.Equal(Argv(c.Process.Pid), want); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%q, want %q", Argv(c.Process.Pid), want)
		}
	}
}
