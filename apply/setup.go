package apply

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/session"
)

// SetupError says that a workspace's setup command failed.
type SetupError struct {
	Argv   []string
	Output string // the end of what it printed
	Err    error
}

// Error is the command, how it failed, and the end of what it printed.
func (e *SetupError) Error() string {
	s := e.Summary()
	if e.Output != "" {
		s += "\n" + tail(e.Output, 12)
	}
	return s
}

// Summary is the command and how it failed.
func (e *SetupError) Summary() string {
	return fmt.Sprintf("setup: %s: %v", strings.Join(e.Argv, " "), e.Err)
}

// Unwrap is how the command failed.
func (e *SetupError) Unwrap() error { return e.Err }

// Excerpt is what the command printed, at most session.TailLimit bytes.
func (e *SetupError) Excerpt() string { return e.Output }

// outputGrace is how long a setup command's output is waited for once it has
// left or was killed: something it started may hold its pipes for ever.
const outputGrace = 2 * time.Second

// runSetup runs a workspace's setup command, in a process group of its own: the
// terminal's Ctrl-C is for agentform, and ending it ends all it started.
func runSetup(ctx context.Context, argv []string, dir string, env []string) error {
	path, err := lookUp(argv[0], dir, env)
	if err != nil {
		return &SetupError{Argv: argv, Err: err}
	}
	var out tailWriter
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = outputGrace
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &SetupError{Argv: argv, Output: out.String(), Err: err}
	}
	return nil
}

// tailWriter keeps the last session.TailLimit bytes of what is written to it.
type tailWriter struct{ kept bytes.Buffer }

func (t *tailWriter) Write(p []byte) (int, error) {
	t.kept.Write(p)
	if over := t.kept.Len() - session.TailLimit; over > 0 {
		t.kept.Next(over)
	}
	return len(p), nil
}

func (t *tailWriter) String() string { return strings.ToValidUTF8(t.kept.String(), "") }
