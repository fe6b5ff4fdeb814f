package session

import (
	"slices"
	"strings"
	"time"
)

// Mark is the value of the tmux option @agentform, or a container's labels. An agent could
// forge it, so it identifies an object and proves nothing.
type Mark struct {
	Project string  `json:"project"` // the state's lineage, so that two projects of one name differ
	Address Address `json:"address"`
	ID      string  `json:"id"`
	Run     string  `json:"run"`
	Hash    string  `json:"hash"` // Spec.Hash at launch
}

// Liveness is whether the session in a place is alive.
type Liveness string

// The values of Liveness. Unknown is not dead: nothing is done on a guess.
const (
	Alive   Liveness = "alive"
	Dead    Liveness = "dead"
	Unknown Liveness = "unknown"
)

// Live is one session object as a runtime sees it now.
type Live struct {
	Mark          Mark
	Location      Location `json:"Place"`
	Foreign       bool     // no mark, or another project's: never touched
	Copied        bool     `json:",omitempty"` // its mark is a copy of another session's: never touched
	Ours          bool     `json:",omitempty"` // it was started with this data directory, by whatever state
	PlaceUp       bool     // the tmux session exists, the container runs
	Liveness      Liveness `json:"Vital"`           // of the agent in it
	UnknownReason string   `json:"Doubt,omitempty"` // why Liveness is unknown, for people
	Agent         Process
	Exit          *Exit // how the run ended, when it has
	Spec          *Spec // as launched, when the run's directory still has it
	Frozen        bool  // the agent's processes are suspended
	Suspended     bool  `json:",omitempty"` // and no pause did it: a signal or Ctrl-Z
	InputOff      bool
	Attached      int // clients
	Dir           string
	// Checkout is the workspace as the runtime sees it, where this machine does not.
	Checkout *Checkout `json:",omitempty"`
	// WorkspaceStamp changes with most changes of the workspace, where this machine does not see it. It is
	// only known with a screen; 0: not known.
	WorkspaceStamp uint64 `json:",omitempty"`

	Title   string
	Screen  string    // only when asked for
	Blank   bool      `json:",omitempty"` // the screen was captured and is empty
	MovedAt time.Time // last output; zero: not known, as of pods without screens
	Size    [2]int    // columns, rows
	BootID  string
	Started time.Time // of the run
	Command []string  `json:",omitempty"` // what runs in it; only of what is imported
	Edited  []Edit    `json:",omitempty"` // what someone changed of its place since it was made
	Losing  string    `json:",omitempty"` // why its workspace is lost when its place ends; empty: it is not
}

// EditsBut returns the edits of its place that a session's lifecycle block does not ignore. Only those
// below SetFields can be ignored.
func (l Live) EditsBut(ignored Lifecycle) []Edit {
	return slices.DeleteFunc(slices.Clone(l.Edited), func(e Edit) bool { return strings.HasPrefix(e.Field, SetFields) && ignored.Ignores(e.Field) })
}

// SetFields is the prefix of the fields of a StatefulSet whose edits can be ignored.
const SetFields = "statefulset.spec."

// Edit is a field of a place that someone changed outside of agentform. The values are those
// of JSON; nil: the field is not set.
type Edit struct {
	Field    string // statefulset.spec.replicas
	Declared any    // as agentform made it
	Actual   any
	Restarts bool `json:",omitempty"` // it cannot be put back while the agent runs
}

// Show sets the screen to a captured one, which may be empty.
func (l *Live) Show(screen string) { l.Screen, l.Blank = screen, screen == "" }

// Exit is how a run ended, as its shim recorded it.
type Exit struct {
	Cause     Cause     `json:"cause"`
	Code      int       `json:"code"`
	Signal    string    `json:"signal,omitempty"` // SIGKILL; empty: it exited by itself
	At        time.Time `json:"at"`
	Ran       Duration  `json:"ran"`
	Leftovers int       `json:"leftovers,omitempty"` // processes that had to be killed after it
	Detail    string    `json:"detail,omitempty"`    // why, where it is known: of failed_start always
}

// Activity is what the agent does, according to its signals.
type Activity string

// The activities. An unobserved agent has no session file yet.
const (
	Booting    Activity = "booting"
	Working    Activity = "working"
	Idle       Activity = "idle"
	Blocked    Activity = "blocked"     // waits for a person
	BlockedAPI Activity = "blocked_api" // rate or usage limit
	Done       Activity = "done"
	Failed     Activity = "failed"
	Exited     Activity = "exited"
	Unobserved Activity = "unobserved"
	NoActivity Activity = "unknown"
)

// State is what is known of a session, without its agent's activity.
type State string

// The states. Stale: the tmux session or container exists, and the agent in it has
// exited. Error: the tmux session or container is gone, or an action failed.
const (
	StatePending  State = "pending"
	StateStarting State = "starting"
	StateRunning  State = "running"
	StatePaused   State = "paused"
	StateStale    State = "stale"
	StateError    State = "error"
	StateStopped  State = "stopped"
	StateUnknown  State = "unknown"
)

// Status is state and activity in one word.
type Status string

// The nine statuses.
const (
	StatusPending    Status = "pending"
	StatusBooting    Status = "booting"
	StatusRunning    Status = "running"
	StatusBlocked    Status = "blocked"
	StatusBlockedAPI Status = "blocked_api"
	StatusDone       Status = "done"
	StatusFailed     Status = "failed"
	StatusExited     Status = "exited"
	StatusStopped    Status = "stopped"
)

// Terminal reports whether the session does nothing more by itself: done,
// failed, exited or stopped.
func (s Status) Terminal() bool {
	return s == StatusDone || s == StatusFailed || s == StatusExited || s == StatusStopped
}

// StatusOf returns the status for a state and an activity.
func StatusOf(s State, a Activity) Status {
	switch {
	case a == Done, a == Failed:
		return Status(a)
	case s == StatePending, s == StateStopped:
		return Status(s)
	case s == StateError:
		return StatusFailed
	case s == StateStale:
		return StatusExited
	case a == Booting, a == Blocked, a == BlockedAPI, a == Exited:
		return Status(a)
	case s == StateStarting:
		return StatusBooting
	}
	return StatusRunning
}

// World is one read-only snapshot of everything live.
type World struct {
	At     time.Time
	BootID string
	Here   Owner // of what is started now; the zero value differs from none
	Shared bool  // other machines change the state, too
	// Runtimes has each engine (RuntimeSpec.Engine) that was asked: nil, or why it did
	// not answer.
	Runtimes  map[string]error
	Lives     []Live
	Checkouts map[string]Checkout // each workspace that a spec or a record names, by its path
	// Worktrees has who holds which branch, by repository, where something may have to
	// be created.
	Worktrees map[string][]Held
	Found     map[string]Found    // by id that is to be imported
	Runs      map[string]RunFacts // of recorded runs whose place was not found
	Overdue   map[string]bool     // runs that were unobserved for longer than they may be
	Strays    []Stray             // looked for only if something is to be started
	Writer    Writer              // who else changes the state now, if anyone
}

// Stray is the agent of a run that is not in the state.
type Stray struct {
	Run     string
	Process Process
	Address Address // of its session
	Ours    bool    // it was started by this project
	Project string  // the directory of its project; empty: not known
	Dir     string  // its workspace
}

// Writer is a command that changes sessions now.
type Writer struct {
	Name  string    // for people: agentform apply (pid 123)
	Since time.Time // when it started, to the second
}

// Found is the result of looking up an id: nothing, a live object, or an error.
type Found struct {
	Live *Live
	Err  error
}

// RunFacts is what a run's directory holds about the run.
type RunFacts struct {
	Claimed bool // a shim has started it
	Alive   bool // its agent's process still runs
	Agent   Process
	Exit    *Exit
	BootID  string
}

// Checkout is a workspace as it is on disk.
type Checkout struct {
	Path   string
	Exists bool
	Git    bool   // it is the top of a git checkout
	Repo   string // the repository's common git directory, absolute, when Git
	GitDir string // the checkout's own git directory, absolute, when Git: its HEAD names the branch
	Branch string // empty when detached
	Head   string // commit, when detached; the last that is known, when BranchGone
	// BranchGone is the branch that HEAD names and the repository no longer has. Branch
	// is empty then.
	BranchGone string
	Busy       string // "rebase" or "bisect" under way on Branch
	Empty      bool   // the directory exists and has nothing in it
	Partial    bool   // git has not finished making it
	Err        error  // it could not be read
}

// Held is one checkout of a repository and the branch it holds.
type Held struct {
	Path     string
	Branch   string // empty when detached
	Prunable bool   // its directory is gone
}
