package session

import (
	"context"
	"errors"
	"time"
)

// TailLimit bounds any tail of a screen, log or session file, in bytes.
const TailLimit = 48 << 10

// Errors that a Runtime returns, wrapped.
var (
	// ErrExists means that the name of a place is taken.
	ErrExists = errors.New("already exists")
	// ErrGone means that the place does not exist, or not any more.
	ErrGone = errors.New("is gone")
	// ErrRefused means that the session takes no input because it is paused.
	ErrRefused = errors.New("input refused: the session is paused")
	// ErrUnprobeable means that the session's shim does not answer, or refuses a probe or a
	// verification.
	ErrUnprobeable = errors.New("nothing can be run next to the agent")
	// ErrUnreachable means that what runs the sessions did not answer: nothing is known of
	// what was asked, and the same call may succeed later.
	ErrUnreachable = errors.New("cannot be reached")
)

// Unreachable returns err as an error that also is ErrUnreachable.
func Unreachable(err error) error { return unreachable{err} }

type unreachable struct{ error }

func (e unreachable) Unwrap() error { return e.error }

func (e unreachable) Is(target error) bool { return target == ErrUnreachable }

// Launch is what a runtime needs to start one run of an agent.
type Launch struct {
	Mark    Mark
	Name    string            // Address.OutsideName
	RunDir  string            // DATA_DIR/runs/RUN, which exists with mode 0700; empty if the runtime does not share files
	Dir     string            // the workspace, as the session sees it
	Argv    []string          // the agent's command line; Argv[0] is looked up in the agent's PATH
	Env     []string          // the agent's environment, without variables of its terminal and secrets
	Secrets map[string]string // never in an argument or in a file that stays
	Timeout time.Duration     // 0: none
	Stop    Stop
	Spec    Spec // kept in the run's directory, to rebuild a lost state
	// SessionFolders are the directories below which the agent keeps its session files, if this
	// machine does not see them.
	SessionFolders []string
}

// Runtime keeps sessions: in tmux, in containers, or in memory for tests. Its methods may be called
// concurrently. Each returns nil once it has verified its result, or an error with what was
// attempted on what.
type Runtime interface {
	// Traits returns how the runtime's sessions differ from others'.
	Traits() Traits
	// Observe returns every session object of the runtime, also foreign ones, in a number
	// of calls that does not grow with theirs. An error means that the runtime could not
	// be reached, so that the state of its sessions is unknown.
	Observe(ctx context.Context, screens bool) ([]Live, error)
	// Create creates the place and starts the run, which is claimed when Create returns.
	// The error is ErrExists if the name is taken. A failed Create leaves nothing.
	Create(ctx context.Context, l Launch) (Location, error)
	// Restart starts a new run in an existing place whose agent is dead. The error is
	// ErrGone if the place does not exist.
	Restart(ctx context.Context, p Location, l Launch) (Location, error)
	// Stop ends the run's agent and its children, and returns when none are left. The
	// place stays. Stopping a run that has ended is not an error, nor is stopping one in the
	// zero Location, which does not exist.
	Stop(ctx context.Context, p Location, run string, s Stop) error
	// Remove removes the place and returns when it is gone. Removing a place that is gone
	// is not an error.
	Remove(ctx context.Context, p Location) error
	// Pause makes the session refuse input, and freezes its agent if the mode is Freeze.
	Pause(ctx context.Context, p Location, run, mode string) error
	// Resume undoes Pause.
	Resume(ctx context.Context, p Location, run string) error
	// Send types into the session. The error is ErrRefused while the session is paused.
	Send(ctx context.Context, p Location, in Input) error
	// Capture returns the last lines of the screen and its history as plain text, without
	// trailing blank lines. 0 returns all lines.
	Capture(ctx context.Context, p Location, lines int) (string, error)
	// Attach returns the command that attaches a terminal to the session.
	Attach(p Location) []string
}

// Input is what Send types: text and Enter, or one key.
type Input struct {
	Text    string
	Key     string // Enter, Escape, C-c, Up; tmux's names
	NoEnter bool
}
