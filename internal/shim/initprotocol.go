package shim

import (
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/filecopy"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// ClientVariable is the environment variable that marks the processes of one attached terminal. The
// command of AttachMode must pass it into the container.
const ClientVariable = "AGENTFORM_CLIENT"

const (
	// InitSocket is the name of an init's socket in its directory.
	InitSocket = "k"
	// InitFolder is a directory in a container, in memory and private to its user.
	InitFolder = "/run/agentform"
	// TmuxSocket is the socket of the tmux server in a container.
	TmuxSocket     = InitFolder + "/" + TmuxSocketName
	TmuxSocketName = "tmux"
)

// InitLineLimit bounds a request to an init and its reply, each one JSON line: 8 MiB. An
// environment has at most 2 MiB, and JSON escapes make it longer.
const InitLineLimit = 8 << 20

// lookLine bounds the answer to a look, which every container is asked for: a row and a screen, as
// JSON.
const lookLine = 1 << 20

// The operations of an init, besides hello.
const (
	OpInspect = "look"
	OpBegin   = "begin"
	OpEnd     = "end"
	OpTmux    = "tmux"
	OpSecrets = "secrets" // requested by a shim
	OpHold    = "hold"    // as long as the connection is open
	// For an init that shares no files with its client.
	OpLaunch = "launch" // prepares the run's directory, starts the run, and returns when its agent runs
	OpShim   = "shim"   // passes a request on to the run's shim
)

// InitRequest is a request to an init.
type InitRequest struct {
	Op     string `json:"op"`
	Run    string `json:"run,omitempty"`
	RunDir string `json:"run_dir,omitempty"`
	// Of look.
	Target string `json:"target,omitempty"`
	Format string `json:"format,omitempty"`
	Screen bool   `json:"screen,omitempty"`
	// Files requests the files of the run, with the signals after so many bytes. For launch, too.
	Files   bool  `json:"files,omitempty"`
	Signals int64 `json:"signals,omitempty"`
	// Workspace is the checkout whose HEAD Files includes; empty: none.
	Workspace string `json:"workspace,omitempty"`
	// Copy requests the parts of the agent's session files that their copies lack.
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
	// Of hold: the value of ClientVariable, and how long the client may send nothing; 0: no limit.
	Client  string        `json:"client,omitempty"`
	Silence time.Duration `json:"silence_ns,omitempty"`
	// Of launch: the configuration of the shim, and files by their paths below the run's directory.
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
	More     bool              `json:"more,omitempty"` // there are more session files, for the next request
	Tmux     *TmuxReply        `json:"tmux,omitempty"`
	Secrets  map[string]string `json:"secrets,omitempty"`
	Shim     *Reply            `json:"shim,omitempty"`
}

// ContainerRun is the state of a run as its init reports it. The init sees the run's processes
// under other pids than this machine. It is a claim.
type ContainerRun struct {
	Claimed   bool         `json:"claimed,omitempty"` // a shim claimed the run
	Shim      bool         `json:"shim,omitempty"`    // it is running; see Hello
	Agent     bool         `json:"agent,omitempty"`   // it is running
	Frozen    bool         `json:"frozen,omitempty"`
	Process   proc.Process `json:"process"` // the agent, with its pid in the container
	StartedAt time.Time    `json:"started_at,omitzero"`
	BootID    string       `json:"boot_id,omitempty"`
	Exit      *rundir.Exit `json:"exit,omitempty"`
	// Row is tmux's description of the session in the requested format; empty: there is no such
	// session. Watching reports whether one of its clients is the init.
	Row      string `json:"row,omitempty"`
	Watching bool   `json:"watching,omitempty"`
	Screen   string `json:"screen,omitempty"`
	// Workspace is the stamp of the workspace of the last run, read along with a screen: of
	// rundir.StampWorkspace.
	Workspace uint64 `json:"workspace,omitempty"`
}

// An Occurrence is one line that the init of a pod prints to standard output.
type Occurrence struct {
	At    time.Time    `json:"at"`
	Event string       `json:"event"`
	Run   string       `json:"run"`
	PID   int          `json:"pid,omitempty"`  // of the agent, in the container
	Exit  *rundir.Exit `json:"exit,omitempty"` // nil: the shim was killed as well
	Head  string       `json:"head,omitempty"` // content of the workspace's HEAD; empty: it is not a checkout
	Gone  bool         `json:"gone,omitempty"` // the workspace does not exist
}

// The events of an Occurrence.
const (
	Started = "started"
	Exited  = "exited"
	Head    = "head" // the workspace's HEAD, after the start and on each change
)

// TmuxReply is the result of a tmux command in the container.
type TmuxReply struct {
	Code   int    `json:"code"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// bootIDLimit bounds a boot id, which is kept in the state. Linux's is a UUID of 36 bytes.
const bootIDLimit = 64

// credible reports whether the values are possible.
func (in *ContainerRun) credible() bool {
	return in.Process.PID >= 0 && len(in.BootID) <= bootIDLimit && (in.Exit == nil || rundir.KnownCause(in.Exit.Cause))
}

// TmuxTimeout bounds one tmux command, and tmuxOutput its output.
const TmuxTimeout = 20 * time.Second

// ServerTimeout bounds the start of a tmux server, and its end.
const ServerTimeout = 10 * time.Second
