package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/excerpt"
	"github.com/agentform/agentform/session"
)

// Errors in an *Error, for errors.Is.
var (
	// ErrNotRepository: the directory is not in a git repository.
	ErrNotRepository = errors.New("not a git repository")
	// ErrNotInstalled: git is not on PATH.
	ErrNotInstalled = errors.New("git is not installed, or not on PATH")
)

// Error is a git command that failed.
type Error struct {
	Args   []string // without "git"
	Output string   // at most session.TailLimit bytes
	Err    error    // of the process
	stdout string   // all of it
}

// Error returns the command and its output.
func (e *Error) Error() string {
	text := fmt.Sprintf("git %s: %v", strings.Join(e.Args, " "), e.Err)
	if e.Output != "" {
		text += ": " + e.Output
	}
	return text
}

// Short returns git's complaint on one line, without its progress and the arguments.
func (e *Error) Short() string {
	words := []string{"git"}
	for _, word := range e.Args {
		if strings.HasPrefix(word, "-") || strings.ContainsAny(word, "/=") {
			break
		}
		words = append(words, word)
	}
	command := strings.Join(words[:min(len(words), 3)], " ")
	said := ""
	for line := range strings.SplitSeq(strings.TrimSpace(e.Output), "\n") {
		if said == "" || !strings.HasPrefix(said, "fatal: ") && !strings.HasPrefix(said, "error: ") {
			said = strings.TrimSpace(line)
		}
	}
	if said == "" {
		return fmt.Sprintf("%s: %v", command, e.Err)
	}
	return command + ": " + strings.TrimPrefix(said, "fatal: ")
}

// Unwrap returns the process's error, and ErrNotRepository if git printed that.
func (e *Error) Unwrap() []error {
	if strings.Contains(e.Output, "not a git repository") {
		return []error{ErrNotRepository, e.Err}
	}
	return []error{e.Err}
}

// killAfter bounds git's cleanup after SIGTERM, and the wait for what a hook left running.
const killAfter = 2 * time.Second

// quiet are settings for every command but git worktree add.
var quiet = []string{"-c", "core.hooksPath=/dev/null"}

// safe are settings for every command: they run no program of the repository and hide no
// files.
var safe = []string{
	"-c", "core.fsmonitor=false",
	"-c", "status.showUntrackedFiles=normal",
	"-c", "advice.detachedHead=false",
}

func run(ctx context.Context, dir string, args ...string) (string, error) {
	return feed(ctx, dir, "", args...)
}

func feed(ctx context.Context, dir, stdin string, args ...string) (string, error) {
	return start(ctx, dir, stdin, slices.Concat(quiet, args), args)
}

func runHooked(ctx context.Context, dir string, args ...string) (string, error) {
	return start(ctx, dir, "", args, args)
}

// withEnv is feed with more variables.
func withEnv(ctx context.Context, dir, stdin string, env []string, args ...string) (string, error) {
	return start(ctx, dir, stdin, slices.Concat(quiet, args), args, env...)
}

// start runs git with args and more variables. Errors show said instead of args.
func start(ctx context.Context, dir, stdin string, args, said []string, env ...string) (string, error) {
	bin, err := exec.LookPath("git")
	if err != nil {
		return "", &Error{Args: said, Err: ErrNotInstalled}
	}
	return execute(ctx, bin, dir, stdin, slices.Concat(safe, args), said, env...)
}

// execute runs a program, with more variables, and returns its stdout.
func execute(ctx context.Context, bin, dir, stdin string, args, said []string, env ...string) (string, error) {
	c := exec.CommandContext(ctx, bin, args...)
	c.Dir, c.Env = dir, append(environ(), env...)
	c.Stdin = strings.NewReader(stdin)
	stdout, stderr := output(outputLimit), output(outputLimit)
	c.Stdout, c.Stderr = stdout, stderr
	// In a group of its own, git does not get the terminal's Ctrl-C. On SIGTERM, git and
	// its children remove what they have begun.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		if err := syscall.Kill(-c.Process.Pid, syscall.SIGTERM); err != nil {
			return os.ErrProcessDone
		}
		return nil
	}
	c.WaitDelay = killAfter
	err := c.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		// ErrWaitDelay: a process that a hook left running has our pipe.
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	// git prints errors on stderr, hooks on either.
	printed := bytes.TrimSpace(append(stderr.Bytes(), stdout.Bytes()...))
	if over := len(printed) - session.TailLimit; over > 0 {
		printed = printed[over:]
	}
	return "", &Error{Args: said, Output: string(printed), Err: err, stdout: stdout.String()}
}

// outputLimit bounds what is read of git's output: that of a container may be anything.
const outputLimit = 256 << 20

// output keeps a command's output. Beyond the limit writes fail, and so does the command.
func output(limit int) *excerpt.Head {
	return &excerpt.Head{Limit: limit, Full: fmt.Errorf("it printed more than %d MiB", limit>>20)}
}

// environ returns the environment without git's variables, in English.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "GIT_") || name == "LC_ALL" || name == "LANGUAGE"
	})
	return append(env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
}

func exitCode(err error) int {
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.ExitCode()
	}
	return -1
}

func wrap(err *error, format string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), *err)
	}
}
