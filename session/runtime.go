package session

import (
	"context"
	"errors"
	"time"
)

// TailLimit is the most that any tail of a screen, log or session file holds:
// 48 KiB.
const TailLimit = 48 << 10

// Errors that a Runtime returns, wrapped.
var (
	// ErrExists: a place of that name is there already.
	ErrExists = errors.New("already exists")
	// ErrGone: the place is not there (any more).
	ErrGone = errors.New("is gone")
	// ErrRefused: the place refuses input because it is paused.
	ErrRefused = errors.New("input refused: the session is paused")
	// ErrUnprobeable: the session's guest cannot be asked, or is an older one. It
	// says nothing of the agent.
	ErrUnprobeable = errors.New("cannot be probed")
)

// Launch is everything a runtime needs to start one run of an agent.
type Launch struct {
	Mark    Mark
	Name    string            // Address.OutsideName
	RunDir  string            // DATA_DIR/runs/RUN; exists, 0700
	Dir     string            // the workspace
	Argv    []string          // the agent's command line; Argv[0] is looked up in the agent's PATH
	Env     []string          // the agent's whole environment but for terminal variables and secrets
	Secrets map[string]string // values: handed over outside argv, never written where they stay
	Timeout time.Duration     // 0: none
	Stop    Stop
	Spec    Spec // kept in the run's folder, so that a lost state can be rebuilt
}

// Runtime holds sessions: a tmux server, a Docker engine, or a script in a
// test. Every method may be called from many goroutines; each returns an error
// that says what was attempted on what, or nil when what it promises has been
// seen to be true.
type Runtime interface {
	// Traits returns how the runtime's sessions differ from others'.
	Traits() Traits
	// Observe returns every session object the runtime can see, ours and
	// others', in a number of calls that does not grow with their number. Screens
	// are filled in only if asked for. It changes nothing. An error means that
	// the runtime could not be reached: what it holds is unknown, not dead. A
	// runtime with nothing in it is no error.
	Observe(ctx context.Context, screens bool) ([]Live, error)
	// Create makes the place and starts the run in it. When it returns, the run
	// is claimed. ErrExists if the name is taken. It leaves nothing behind when
	// it fails.
	Create(ctx context.Context, l Launch) (Place, error)
	// Restart starts a new run in a place that stands and whose agent is dead.
	// ErrGone if it does not stand.
	Restart(ctx context.Context, p Place, l Launch) (Place, error)
	// Stop ends the run's agent and everything below it, with the signal, then,
	// after the grace, SIGKILL, and returns when it has seen that nothing is
	// left. The place stands on. A run that has already ended is no error.
	Stop(ctx context.Context, p Place, run string, s Stop) error
	// Remove takes the place away and returns when it has seen that it is gone.
	// A place that is gone already is no error.
	Remove(ctx context.Context, p Place) error
	// Pause and Resume: by Detach or Freeze.
	Pause(ctx context.Context, p Place, run, mode string) error
	Resume(ctx context.Context, p Place, run string) error
	// Send types into the session. ErrRefused while it is paused.
	Send(ctx context.Context, p Place, in Input) error
	// Capture returns the last lines of the screen and its history as plain
	// text, without trailing blank lines; 0: all there is.
	Capture(ctx context.Context, p Place, lines int) (string, error)
	// Attach is the command that gives a terminal to the session.
	Attach(p Place) []string
}

// Input is what Send types: text, then Enter unless told otherwise, or one
// named key (Enter, Escape, C-c, Up; tmux's names).
type Input struct {
	Text    string
	Key     string
	NoEnter bool
}
