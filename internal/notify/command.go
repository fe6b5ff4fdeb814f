package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// patience is how long a command may take.
	patience = 30 * time.Second
	// complaint is how much of what it prints is told, in bytes.
	complaint = 2 << 10
)

// run gives a command the event on standard input, and what is short of it in its
// environment. One that takes too long is killed with all that it started, and what it
// leaves behind in its process group is killed after the same time.
func (n *Notifier) run(parent context.Context, argv []string, e Event, body []byte) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(parent, patience)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var printed tail
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = n.config.Dir, append(slices.Clip(n.config.Environ), e.environ()...), bytes.NewReader(body), &printed, &printed
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	err := c.Run()
	if c.Process != nil {
		n.workers.Go(func() { endGroup(parent, c.Process.Pid, began.Add(patience)) })
	}
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it did, and left something behind that holds its output
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("command %q: %w after %s", argv[0], context.Cause(ctx), patience)
	}
	return fmt.Errorf("command %q: %w: %s", argv[0], err, strings.TrimSpace(string(printed)))
}

// endGroup kills what is left of a process group when ctx ends or the time has come, and
// returns when nothing is.
func endGroup(ctx context.Context, group int, at time.Time) {
	for left := time.NewTicker(100 * time.Millisecond); ; {
		if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
			left.Stop()
			return
		}
		if ctx.Err() != nil || time.Now().After(at) {
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
		<-left.C
	}
}

// environ returns the variables that a command finds the event in.
func (e Event) environ() []string {
	return []string{"AGENTFORM_EVENT=" + e.Event, "AGENTFORM_ADDRESS=" + e.Address, "AGENTFORM_BRANCH=" + e.Branch,
		"AGENTFORM_DETAIL=" + strings.ReplaceAll(cmp.Or(e.Detail, e.New), "\x00", "")}
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(b []byte) (int, error) {
	*t = append(*t, b...)
	if over := len(*t) - complaint; over > 0 {
		*t = append((*t)[:0], (*t)[over:]...)
	}
	return len(b), nil
}
