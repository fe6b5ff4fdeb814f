package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/internal/proc"
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
		s += "\n" + launch.Tail(e.Output, 12)
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

// setupLog is the file in a session's folder that holds what its workspace's
// setup printed last.
const setupLog = "setup.log"

// setUp runs the workspace's setup command. One that an apply which was killed
// had begun may still run: it is ended first, since two would spoil each other's
// work.
func (j *job) setUp(ctx context.Context, argv []string) error {
	if c, err := j.run.container(j.rec.Spec); err != nil {
		return fmt.Errorf("setup: %w", err)
	} else if c != nil {
		return j.setUpInside(ctx, c, argv)
	}
	id := j.rec.ID
	mark := "setup-" + id[max(0, len(id)-50):] // its end, which differs most, and as much as a mark may have
	if _, err := proc.Sweep(mark, time.Second, "SIGTERM"); err != nil {
		return fmt.Errorf("setup: end the one that was begun before: %w", err)
	}
	folder := j.run.Folder(j.rec)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	env, inherited, err := j.run.environ(j.rec.Spec)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	for name, value := range inherited {
		env = append(env, name+"="+value)
	}
	env = append(env, "AGENTFORM_RUN="+mark)
	return runSetup(ctx, argv, j.rec.Tree.Path, env, filepath.Join(folder, setupLog))
}

// runSetup runs a workspace's setup command, in a process group of its own: the
// terminal's Ctrl-C is for agentform, and ending it ends all it started. Its
// output goes to a file, and not through a pipe that something it leaves running
// would hold open.
func runSetup(ctx context.Context, argv []string, dir string, env []string, log string) (err error) {
	path, err := lookUp(argv[0], dir, env)
	if err != nil {
		return &SetupError{Argv: argv, Err: err}
	}
	out, err := os.OpenFile(log, os.O_RDWR|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("setup: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &SetupError{Argv: argv, Output: endOf(out), Err: err}
	}
	return nil
}

// endOf is the last session.TailLimit bytes of a file; nothing of one that
// cannot be read.
func endOf(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), session.TailLimit))
	n, _ := f.ReadAt(text, info.Size()-int64(len(text))) // what there is of it
	return strings.ToValidUTF8(string(text[:n]), "")
}

// writeLog writes a log into a session's folder, through no link and into no pipe.
func writeLog(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
