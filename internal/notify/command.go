package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
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

// run gives a command the event on standard input. One that takes too long is
// killed with all that it started.
func (n *Notifier) run(ctx context.Context, argv []string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var printed tail
	c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr = n.config.Dir, n.config.Environ, bytes.NewReader(body), &printed, &printed
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = time.Second
	err := c.Run()
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // it did, and left something behind that holds its output
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("command %q: %w after %s", argv[0], context.Cause(ctx), patience)
	}
	return fmt.Errorf("command %q: %w: %s", argv[0], err, strings.TrimSpace(string(printed)))
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
