package shim

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
)

const ExitUsage = 2

// ProbeLimit is the longest that a probe may take, whatever is asked for.
const ProbeLimit = 10 * time.Minute

// ProbeDefault is how long one may take that nothing is said of.
const ProbeDefault = 5 * time.Second

// Probe is what to run beside the agent.
type Probe struct {
	Argv    []string      `json:"argv,omitempty"`
	Timeout time.Duration `json:"probe_timeout_ns,omitempty"` // 0: five seconds
}

// VerifyLimit is the longest that a verification may take, and VerifyDefault how long one may
// that sets no limit.
const (
	VerifyLimit   = 24 * time.Hour
	VerifyDefault = 20 * time.Minute
)

// Probed is how a probe or a verification went.
type Probed struct {
	Code     int    `json:"code"`             // its exit status; 127 and 126 as of a shell
	Signal   string `json:"signal,omitempty"` // it was ended by
	TimedOut bool   `json:"timed_out,omitempty"`
	Output   string `json:"output,omitempty"` // the end of what it printed: of a probe at most 4 KiB, of a verification 10
	Log      string `json:"log,omitempty"`    // the file with all that a verification printed, as the shim sees it
}

// Failure returns why a probe with that timeout failed, with the last line that it printed; nothing
// if it did not.
func (p Probed) Failure(timeout time.Duration) string {
	how := p.Ended(timeout)
	if printed := strings.TrimSpace(p.Output); how != "" && printed != "" {
		how += ": " + printed[strings.LastIndexByte(printed, '\n')+1:]
	}
	return how
}

// Ended returns how a probe or a verification with that timeout ended; nothing if it succeeded.
func (p Probed) Ended(timeout time.Duration) string {
	switch {
	case p.TimedOut:
		return fmt.Sprintf("it took longer than %s", timeout)
	case p.Signal != "":
		return "killed by " + p.Signal
	case p.Code != 0:
		return fmt.Sprintf("exit status %d", p.Code)
	}
	return ""
}

// The arguments of agentform-shim that select what it does. Without one it is the
// parent of an agent.
const (
	InitMode   = "keep"   // PID 1 of a container; the directory of its socket follows
	AttachMode = "attach" // attaches a terminal to a container; that directory and a command follow
	RelayMode  = "relay"  // connects standard input and output to a socket, which follows
	VerifyMode = "verify" // runs the command of a verification: a program and its arguments follow
	NotifyMode = "notify" // keeps what a hook reports; the run's directory follows
	PodMode    = "pod"    // PID 1 of a pod's container; the directory of its socket and a TCP port follow
)

// LineLimit bounds a request and a reply, each one JSON line: 64 KiB.
const LineLimit = 64 << 10

// The operations. Restart is known by name and answers CodeUnsupported.
const (
	OpHello   = "hello"
	OpStatus  = "status"
	OpPause   = "pause"
	OpResume  = "resume"
	OpStop    = "stop"
	OpSet     = "set"
	OpProbe   = "probe"
	OpVerify  = "verify" // a probe with a longer limit and a log
	OpUnread  = "unread"
	OpRestart = "restart"
)

// The codes of an Error.
const (
	CodeUnsupported = "unsupported" // this shim does not do that
	CodeInvalid     = "invalid"     // the request makes no sense
	CodeEnding      = "ending"      // the run is being stopped
	CodeBusy        = "busy"        // not now
	CodeFailed      = "failed"      // it was tried, and the processes did not follow
	CodeGone        = "gone"        // the run's shim does not answer
)

// Error is a shim's refusal.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return "shim: " + e.Message }

// Settings change a run under way. What is nil stays as it is.
type Settings struct {
	Timeout *time.Duration `json:"timeout_ns,omitempty"` // 0: none
	Signal  *string        `json:"signal,omitempty"`
	Grace   *time.Duration `json:"grace_ns,omitempty"`
}

// Hello is what a shim says of itself.
type Hello struct {
	Protocol int          `json:"protocol"` // its rundir.Version
	Run      string       `json:"run"`
	Shim     proc.Process `json:"shim"`
}

// Status is how a run stands.
type Status struct {
	Agent     proc.Process  `json:"agent"`
	StartedAt time.Time     `json:"started_at"`
	Ran       time.Duration `json:"ran_ns"` // without the time it was frozen: what the timeout is compared with
	Frozen    bool          `json:"frozen,omitempty"`
	Ending    string        `json:"ending,omitempty"` // the cause, while the run is being stopped
	Timeout   time.Duration `json:"timeout_ns,omitempty"`
	Signal    string        `json:"signal"`
	Grace     time.Duration `json:"grace_ns"`
}

type Request struct {
	Op string `json:"op"`
	Settings
	Probe
}

type Reply struct {
	OK     bool         `json:"ok"`
	Error  *Error       `json:"error,omitempty"`
	Hello  *Hello       `json:"hello,omitempty"`
	Status *Status      `json:"status,omitempty"`
	Exit   *rundir.Exit `json:"exit,omitempty"`
	Probed *Probed      `json:"probed,omitempty"`
	Unread *int         `json:"unread,omitempty"`
}

func Refuse(code, message string) Reply {
	return Reply{Error: &Error{Code: code, Message: message}}
}

const (
	ExitNotFound = 127 // the command is not there
	ExitCannot   = 126 // anything else kept it from running
)
