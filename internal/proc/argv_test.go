//go:build real && (linux || darwin)

package proc

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
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
	wait.For(t, fmt.Sprintf("its command line is %q", want), func() (any, bool) {
		got := Argv(c.Process.Pid)
		return fmt.Sprintf("%q", got), slices.Equal(got, want)
	})
}
