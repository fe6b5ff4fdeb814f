package tmux

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// ErrNotAvailable means that this machine has no tmux program.
var ErrNotAvailable = errors.New("tmux is not installed")

// Error is a tmux command that failed.
type Error struct {
	Command string // its name
	Output  string // what tmux printed, at most session.TailLimit bytes
	Err     error  // the cause, if known: session.ErrGone, session.ErrExists
}

func (e *Error) Error() string {
	s := "tmux: " + e.Command
	if e.Output != "" {
		s += ": " + e.Output
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Short returns Error.
func (e *Error) Short() string { return e.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func failure(command, output string, err error) *Error {
	output = strings.TrimSpace(output)
	if len(output) > session.TailLimit {
		output = output[len(output)-session.TailLimit:]
	}
	switch reason := tmuxwire.Reason(output); {
	case reason == nil:
	case errors.Is(reason, tmuxwire.ErrExists):
		err = session.ErrExists
	case errors.Is(reason, tmuxwire.ErrNoSession):
		err = session.ErrGone
	default:
		err = reason
	}
	return &Error{Command: command, Output: output, Err: err}
}

type program struct {
	bin   string   // empty: tmux on PATH
	scope []string // of a command that may start a server; see Config.Scope
	// silence belongs to the program's server; nil: the program serves several.
	silence *silence
}

func (p program) enterScope(cmd *exec.Cmd) error {
	if len(p.scope) == 0 {
		return nil
	}
	path, err := exec.LookPath(p.scope[0])
	if err != nil {
		return fmt.Errorf("start tmux in a scope: %w", err)
	}
	words := slices.Concat([]string{path}, p.scope[1:], []string{"env"})
	for _, name := range []string{"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
			words = append(words, "-u", name)
		}
	}
	cmd.Args = slices.Concat(words, []string{cmd.Path}, cmd.Args[1:])
	cmd.Path = path
	return nil
}

func (p program) path() (string, error) {
	path, err := exec.LookPath(cmp.Or(p.bin, "tmux"))
	if err != nil {
		remedy := "apt-get install tmux"
		if runtime.GOOS == "darwin" {
			remedy = "brew install tmux"
		}
		return "", fmt.Errorf("%w (%s)", ErrNotAvailable, remedy)
	}
	return path, nil
}

// command returns a tmux command, without the user's configuration file. It starts in its own
// session, so that Ctrl-C in the terminal reaches only agentform.
func (p program) command(ctx context.Context, socket string, args ...string) (*exec.Cmd, error) {
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, append(tmuxwire.Flags(socket), args...)...)
	cmd.Env = environment(os.Environ())
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	return cmd, nil
}

func (p program) run(ctx context.Context, socket string, stdin io.Reader, args ...string) (string, error) {
	asked, within := ctx, p.silence.timeout()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd, err := p.command(ctx, socket, args...)
	if err == nil {
		err = p.enterScope(cmd)
	}
	if err != nil {
		return "", err
	}
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	if err := cmd.Run(); err != nil {
		silent := ctx.Err() != nil && asked.Err() == nil
		p.silence.answered(!silent, within)
		switch {
		case silent:
			return out.String(), &Error{Command: args[0], Err: noAnswer(socket, within)}
		case ctx.Err() != nil:
			err = ctx.Err()
		}
		if exit, is := errors.AsType[*exec.ExitError](err); is && !exit.Exited() {
			// A part of its output may be missing.
			return out.String(), &Error{Command: args[0], Err: err}
		}
		return out.String(), failure(args[0], errs.String(), err)
	}
	p.silence.answered(true, within)
	return out.String(), nil
}

// environment returns the environment of the tmux server and its clients. The server passes it to
// every session, so it has nothing of the user's shell.
func environment(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return !strings.HasPrefix(name, "LC_") &&
			!slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM"}, name)
	})
}

const (
	// answerTimeout keeps a suspended server from blocking the others.
	answerTimeout = 20 * time.Second
	// silentTimeout replaces answerTimeout for silenceLasts after a server has not answered, since
	// a command of agentform sends several requests.
	silentTimeout = 2 * time.Second
	silenceLasts  = time.Minute
)

// silence remembers when a server did not answer. The zero value is of one that does, and
// nil remembers nothing.
type silence struct{ since atomic.Int64 } // in nanoseconds

func (s *silence) timeout() time.Duration {
	if s != nil && time.Since(time.Unix(0, s.since.Load())) < silenceLasts {
		return silentTimeout
	}
	return answerTimeout
}

func (s *silence) answered(ok bool, timeout time.Duration) {
	switch {
	case s == nil:
	case ok:
		s.since.Store(0)
	case timeout == answerTimeout:
		s.since.Store(time.Now().UnixNano())
	}
}

// noAnswer returns the error of a server that did not answer, with its process, which may
// be suspended.
func noAnswer(socket string, timeout time.Duration) error {
	err := fmt.Errorf("no answer within %v from the server on %s", timeout, socket)
	conn, dialErr := net.DialTimeout("unix", socket, time.Second)
	if dialErr != nil {
		return err
	}
	defer conn.Close()
	if pid := listener(conn); pid != 0 {
		return fmt.Errorf("%w (process %d): kill -CONT %[2]d resumes it if it is suspended", err, pid)
	}
	return err
}
