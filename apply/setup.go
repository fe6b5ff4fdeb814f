package apply

import (
	"context"
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
	Output string // its end, at most session.TailLimit bytes
	Err    error
}

// Error returns the summary and the end of the output.
func (e *SetupError) Error() string {
	if e.Output == "" {
		return e.Summary()
	}
	return e.Summary() + "\n" + launch.Tail(e.Output, 12)
}

// Summary returns the command and how it failed.
func (e *SetupError) Summary() string {
	return fmt.Sprintf("setup: %s: %v", strings.Join(e.Argv, " "), e.Err)
}

// Unwrap returns how the command failed.
func (e *SetupError) Unwrap() error { return e.Err }

// Excerpt returns the output.
func (e *SetupError) Excerpt() string { return e.Output }

// setUp runs the workspace's setup command, in a container like the session's or here, and
// keeps its output in the session's folder.
func (w *workspaces) setUp(ctx context.Context, rec session.Record, argv []string) error {
	fail := func(err error) error { return fmt.Errorf("setup: %w", err) }
	folder := w.config.Folder(rec)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fail(err)
	}
	env, secrets, err := w.environs.of(rec.Spec)
	if err != nil {
		return fail(err)
	}
	// Through no link and into no pipe.
	log, err := os.OpenFile(filepath.Join(folder, "setup.log"), os.O_RDWR|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fail(err)
	}
	defer log.Close()
	c, err := w.runtimes.container(rec.Spec)
	if err != nil {
		return fail(err)
	}
	output := ""
	if c != nil {
		if output, err = c.Run(ctx, rec.Spec, rec.Tree.Path, argv, env); ctx.Err() != nil {
			err = ctx.Err()
		}
		if _, unwritten := log.WriteString(output); unwritten != nil && err == nil {
			return fail(unwritten)
		}
	} else {
		for name, value := range secrets {
			env = append(env, name+"="+value)
		}
		err = runSetup(ctx, rec.ID, argv, rec.Tree.Path, env, log)
		output = endOf(log)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &SetupError{Argv: argv, Output: output, Err: err}
	}
	return nil
}

// runSetup runs a setup command in a process group of its own, which Ctrl-C does not reach
// and which is killed as a whole. Its output goes to a file, since a process that it leaves
// would hold a pipe open. One that a killed apply left running is ended first.
func runSetup(ctx context.Context, id string, argv []string, dir string, env []string, log *os.File) error {
	mark := "setup-" + id[max(0, len(id)-50):] // the end differs most; a mark is short
	if _, err := proc.Sweep(mark, time.Second, "SIGTERM"); err != nil {
		return fmt.Errorf("end the one that was started before: %w", err)
	}
	path, err := lookUp(argv[0], dir, env)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(env, "AGENTFORM_RUN="+mark)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd.Run()
}

// endOf returns the last session.TailLimit bytes of a file, as far as it can be read.
func endOf(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), session.TailLimit))
	n, _ := f.ReadAt(text, info.Size()-int64(len(text))) // as much as can be read
	return strings.ToValidUTF8(string(text[:n]), "")
}
