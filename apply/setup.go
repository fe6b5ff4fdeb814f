package apply

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/internal/oneoff"
	"github.com/agentform/agentform/session"
)

// SetupError means that a workspace's setup command failed.
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
// keeps its output in the session's directory.
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
		mark := "setup-" + rec.ID[max(0, len(rec.ID)-50):] // the end differs most; a mark is short
		err = oneoff.Run(ctx, mark, argv, rec.Tree.Path, env, log)
		output = oneoff.Tail(log)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return &SetupError{Argv: argv, Output: output, Err: err}
	}
	return nil
}
