package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// ErrNotAvailable: there is no tmux program on this machine. The error that
// wraps it says how to get one.
var ErrNotAvailable = errors.New("tmux is not installed")

// Error is a tmux command that failed.
type Error struct {
	Command string // without text that was to be typed
	Output  string // what tmux printed, at most session.TailLimit bytes
	Err     error  // why, where that is known: session.ErrGone, session.ErrExists
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

// Short is the same.
func (e *Error) Short() string { return e.Error() }

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// failure makes an Error of what tmux printed, and recognises what it means.
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

// program is the tmux program, as something to start.
type program struct {
	bin   string   // empty: tmux on PATH
	scope []string // of a command that may start a server; see Config.Scope
	// silence belongs to the server for which it runs; nil: to several.
	silence *silence
}

// enterScope makes a command run in the scope.
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
	bin := p.bin
	if bin == "" {
		bin = "tmux"
	}
	path, err := exec.LookPath(bin)
	if err != nil {
		remedy := "apt-get install tmux"
		if runtime.GOOS == "darwin" {
			remedy = "brew install tmux"
		}
		return "", fmt.Errorf("%w (%s)", ErrNotAvailable, remedy)
	}
	return path, nil
}

// command is tmux on a socket, ready to be started. It reads no configuration
// file, since a person's would change what we rely on. It gets a session of its
// own, so that Ctrl-C at the terminal reaches only agentform.
func (p program) command(ctx context.Context, socket string, args ...string) (*exec.Cmd, error) {
	path, err := p.path()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, append([]string{"-u", "-f", "/dev/null", "-S", socket}, args...)...)
	cmd.Env = environment(os.Environ())
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	return cmd, nil
}

// run runs one tmux command and returns what it printed.
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
		var exit *exec.ExitError
		if errors.As(err, &exit) && !exit.Exited() {
			// Half of what it printed is missing, so nothing is concluded from the rest.
			return out.String(), &Error{Command: args[0], Err: err}
		}
		return out.String(), failure(args[0], errs.String(), err)
	}
	p.silence.answered(true, within)
	return out.String(), nil
}

// environment is what the tmux server and its clients get: the server hands its
// first environment to every later session, so nothing of a person's shell may
// be in it.
func environment(environ []string) []string {
	var kept []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR", "TERM":
			kept = append(kept, e)
		default:
			if strings.HasPrefix(name, "LC_") {
				kept = append(kept, e)
			}
		}
	}
	return kept
}
