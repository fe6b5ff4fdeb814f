package shim

import (
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/filecopy"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// ClientVariable is the environment variable that marks the processes of one attached
// terminal. The command of AttachMode has to pass it on into the container.
const ClientVariable = "AGENTFORM_CLIENT"

const (
	// InitSocket is the name of an init's socket in its directory.
	InitSocket = "k"
	// InitFolder is a directory in a container that is in memory and its user's alone.
	InitFolder = "/run/agentform"
	// TmuxSocket is the socket of the tmux server in a container.
	TmuxSocket     = InitFolder + "/" + TmuxSocketName
	TmuxSocketName = "tmux"
)

// InitLineLimit bounds a request to an init and its reply, each one JSON line: 8 MiB. An
// environment has at most 2 MiB, and JSON makes odd characters longer.
const InitLineLimit = 8 << 20

// lookLine bounds what is read of the answer to a look, which is asked of every
// container: a row, a screen, and what JSON makes of them.
const lookLine = 1 << 20

// The operations of an init, besides hello.
const (
	OpInspect = "look"
	OpBegin   = "begin"
	OpEnd     = "end"
	OpTmux    = "tmux"
	OpSecrets = "secrets" // asked by a shim
	OpHold    = "hold"    // for as long as the connection lasts
	// Of an init that shares no files with whoever asks.
	OpLaunch = "launch" // prepares the run's directory, begins the run, and returns when its agent runs
	OpShim   = "shim"   // passes a request on to the run's shim
)

// InitRequest asks an init for something.
type InitRequest struct {
	Op     string `json:"op"`
	Run    string `json:"run,omitempty"`
	RunDir string `json:"run_dir,omitempty"`
	// Of look.
	Target string `json:"target,omitempty"`
	Format string `json:"format,omitempty"`
	Screen bool   `json:"screen,omitempty"`
	// Files asks for the files of the run, too, and for the signals after so many bytes. Of
	// launch, too.
	Files   bool  `json:"files,omitempty"`
	Signals int64 `json:"signals,omitempty"`
	// Workspace is the checkout whose HEAD is asked for with Files; empty: none.
	Workspace string `json:"workspace,omitempty"`
	// Copy asks for what the agent's session files have that their copies lack.
	Copy   bool            `json:"copy,omitempty"`
	Copies []filecopy.File `json:"copies,omitempty"`
	// Of begin; Args of tmux, too.
	Args    []string          `json:"args,omitempty"`
	Secrets map[string]string `json:"secrets,omitempty"`
	Held    []string          `json:"held,omitempty"`
	// Of tmux.
	Stdin string `json:"stdin,omitempty"`
	// Of end.
	Signal string        `json:"signal,omitempty"`
	Grace  time.Duration `json:"grace_ns,omitempty"`
	// Of hold: the value of ClientVariable.
	Client string `json:"client,omitempty"`
	// Of launch: what the shim is to start, and files by their paths below the run's directory.
	Config   *rundir.Config    `json:"config,omitempty"`
	RunFiles map[string]string `json:"run_files,omitempty"`
	// Of shim.
	Request *Request `json:"request,omitempty"`
}

type InitReply struct {
	OK       bool              `json:"ok"`
	Error    *Error            `json:"error,omitempty"`
	Protocol int               `json:"protocol,omitempty"`
	Seen     *ContainerRun     `json:"seen,omitempty"`
	Files    *rundir.Files     `json:"files,omitempty"`
	Copies   []filecopy.File   `json:"copies,omitempty"`
	More     bool              `json:"more,omitempty"` // of the session files, for the next request
	Tmux     *TmuxReply        `json:"tmux,omitempty"`
	Secrets  map[string]string `json:"secrets,omitempty"`
	Shim     *Reply            `json:"shim,omitempty"`
}

// ContainerRun is what an init sees of a run: it shares the run's processes, which this
// machine numbers otherwise. It is a claim.
type ContainerRun struct {
	Claimed   bool         `json:"claimed,omitempty"` // a shim took it up
	Shim      bool         `json:"shim,omitempty"`    // it runs; see Hello
	Agent     bool         `json:"agent,omitempty"`   // it runs
	Frozen    bool         `json:"frozen,omitempty"`
	Process   proc.Process `json:"process"` // the agent, as numbered in there
	StartedAt time.Time    `json:"started_at,omitzero"`
	BootID    string       `json:"boot_id,omitempty"`
	Exit      *rundir.Exit `json:"exit,omitempty"`
	// Row is what tmux tells of the session, in the format that was asked for; empty:
	// there is no such session. Watching says that one of its clients is the init.
	Row      string `json:"row,omitempty"`
	Watching bool   `json:"watching,omitempty"`
	Screen   string `json:"screen,omitempty"`
}

// An Occurrence is one line that the init of a pod prints to standard output.
type Occurrence struct {
	At    time.Time    `json:"at"`
	Event string       `json:"event"`
	Run   string       `json:"run"`
	PID   int          `json:"pid,omitempty"`  // of the agent, in the container
	Exit  *rundir.Exit `json:"exit,omitempty"` // nil: the shim was killed, too
	Head  string       `json:"head,omitempty"` // what the workspace's HEAD has; empty: it is no checkout
	Gone  bool         `json:"gone,omitempty"` // the workspace does not exist
}

// The events of an Occurrence.
const (
	Started = "started"
	Exited  = "exited"
	Head    = "head" // the workspace's HEAD, after the start and whenever it is another
)

// TmuxReply is what a tmux command in the container came to.
type TmuxReply struct {
	Code   int    `json:"code"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// bootIDLimit is longer than the name of any boot: Linux's is a UUID, of 36 bytes. It
// is kept on record, so that it is bounded.
const bootIDLimit = 64

// credible reports whether an init may say that.
func (in *ContainerRun) credible() bool {
	return in.Process.PID >= 0 && len(in.BootID) <= bootIDLimit && (in.Exit == nil || rundir.KnownCause(in.Exit.Cause))
}

// TmuxTimeout bounds one tmux command, and tmuxOutput what it may print.
const TmuxTimeout = 20 * time.Second

// ServerTimeout is how long a tmux server may take to come up, and to go.
const ServerTimeout = 10 * time.Second
