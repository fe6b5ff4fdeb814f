package session

import "time"

// Mark is what a live object carries: the value of the tmux option @agentform or the
// container's labels. An agent could forge it, so it identifies an object and proves
// nothing.
type Mark struct {
	Project string  `json:"project"` // the state's lineage, so that two projects of one name differ
	Address Address `json:"address"`
	ID      string  `json:"id"`
	Run     string  `json:"run"`
	Hash    string  `json:"hash"` // Spec.Hash at launch
}

// Liveness says whether the session in a place is alive.
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
	Copied        bool     `json:",omitempty"` // its mark is another's, which stands too: never touched
	PlaceUp       bool     // the tmux session exists, the container runs
	Liveness      Liveness `json:"Vital"`           // of the agent in it
	UnknownReason string   `json:"Doubt,omitempty"` // why Liveness is unknown, for people
	Agent         Process
	Exit          *Exit // how the run ended, when it has
	Spec          *Spec // as launched, when the run's folder still has it
	Frozen        bool  // the agent's processes stand still
	// Suspended says that it stands still though nobody paused it here: its process was
	// stopped by a signal, or by Ctrl-Z.
	Suspended bool `json:",omitempty"`
	InputOff  bool
	Attached  int // clients
	Dir       string
	Title     string
	Screen    string    // only when asked for
	Blank     bool      `json:",omitempty"` // the screen was captured and is empty
	MovedAt   time.Time // last output
	Size      [2]int    // columns, rows
	BootID    string
	Started   time.Time // of the run
	// Command is what runs in it, as far as that can be told; only of what was
	// looked up to be taken over.
	Command []string `json:",omitempty"`
}

// Show sets the screen to a captured one, which may be empty.
func (l *Live) Show(screen string) { l.Screen, l.Blank = screen, screen == "" }

// Exit is how a run ended, as its shim recorded it.
type Exit struct {
	Cause     string    `json:"cause"` // self, requested, hangup, timeout, failed_start
	Code      int       `json:"code"`
	Signal    string    `json:"signal,omitempty"` // SIGKILL; empty: it exited by itself
	At        time.Time `json:"at"`
	Ran       Duration  `json:"ran"`
	Leftovers int       `json:"leftovers,omitempty"` // processes that had to be killed after it
	Detail    string    `json:"detail,omitempty"`    // why, where it is known: of failed_start always
}

// Activity is what the agent does, according to its signals.
type Activity string

// The activities. An unobserved agent is neither idle nor dead: it has no session file
// yet.
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
	switch a {
	case Done:
		return StatusDone
	case Failed:
		return StatusFailed
	}
	switch s {
	case StatePending:
		return StatusPending
	case StateStopped:
		return StatusStopped
	case StateError:
		return StatusFailed
	case StateStale:
		return StatusExited
	}
	switch a {
	case Booting:
		return StatusBooting
	case Blocked:
		return StatusBlocked
	case BlockedAPI:
		return StatusBlockedAPI
	case Exited:
		return StatusExited
	}
	if s == StateStarting {
		return StatusBooting
	}
	return StatusRunning
}

// World is one read-only snapshot of everything live.
type World struct {
	At     time.Time
	BootID string
	// Here is the owner of what is started now: the facts of this host, user and
	// project. The zero value compares with every owner as the same.
	Here Owner
	// Runtimes says of each engine (RuntimeSpec.Engine) that was asked whether it
	// answered: nil, or why not. One that is not in it was not asked.
	Runtimes map[string]error
	Lives    []Live
	// Checkouts is every workspace that a spec or a record names, by its path.
	Checkouts map[string]Checkout
	// Worktrees is who holds which branch, by repository. Only repositories in
	// which something may have to be created are in it.
	Worktrees map[string][]Held
	// Found is what stands under each id that is to be imported.
	Found map[string]Found
	// Runs tells, for recorded runs whose place was not found, what the run's
	// own folder says.
	Runs map[string]RunFacts
	// Overdue are the runs that could not be observed for longer than they may: see
	// AgentSpec.UnobservedFor.
	Overdue map[string]bool
	// Writer is who changes the state now; the zero value: nobody does, or only whoever
	// looks.
	Writer Writer
}

// Writer is a command that changes sessions now.
type Writer struct {
	Name  string    // for people: agentform apply (pid 123)
	Since time.Time // when it started, to the second
}

// Found is what an id names: nothing, a live object, or the error of looking it up.
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
	Repo   string // the repository's common git folder, absolute, when Git
	GitDir string // the checkout's own git folder, absolute, when Git: its HEAD names the branch
	Branch string // empty when detached
	Head   string // commit, when detached; the last that is known, when BranchGone
	// BranchGone is the branch that HEAD names and the repository does not have any
	// more. Branch is empty then.
	BranchGone string
	Busy       string // "rebase" or "bisect" under way on Branch
	Empty      bool   // the folder exists and has nothing in it
	// Partial says that git has not finished making it: it is at it, or was
	// killed.
	Partial bool
	Err     error // it could not be read
}

// Held is one checkout of a repository and the branch it holds.
type Held struct {
	Path     string
	Branch   string // empty when detached
	Prunable bool   // its folder is gone
}
