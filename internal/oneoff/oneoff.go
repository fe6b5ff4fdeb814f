// Package oneoff runs a command on this machine, apart from the terminal, and keeps its output.
package oneoff

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// Run runs a command in a process group of its own, which Ctrl-C does not reach and which is
// killed as a whole when ctx ends. Its output goes to a file, since a process that it leaves would
// hold a pipe open. One with the same mark that a killed caller left running is ended first.
func Run(ctx context.Context, mark string, argv []string, dir string, env environ.Vars, log *os.File) error {
	if err := End(mark); err != nil {
		return fmt.Errorf("end the one that was started before: %w", err)
	}
	path, err := env.LookUp(argv[0], dir)
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

// End ends the processes that a command with a mark has left.
func End(mark string) error {
	_, err := proc.Sweep(mark, time.Second, "SIGTERM")
	return err
}

// Tail returns the last session.TailLimit bytes of a file, as far as it can be read.
func Tail(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	text := make([]byte, min(info.Size(), session.TailLimit))
	n, _ := f.ReadAt(text, info.Size()-int64(len(text))) // as much as can be read
	return strings.ToValidUTF8(string(text[:n]), "")
}
