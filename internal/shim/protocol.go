package shim

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
)

const ExitUsage = 2

// ProbeLimit is the longest timeout of a probe.
const ProbeLimit = 10 * time.Minute

// ProbeDefault is the timeout of a probe without one.
const ProbeDefault = 5 * time.Second

// Probe is a command to run next to the agent.
type Probe struct {
	Argv    []string      `json:"argv,omitempty"`
	Timeout time.Duration `json:"probe_timeout_ns,omitempty"` // 0: five seconds
}

// VerifyLimit is the longest timeout of a verification, and VerifyDefault is the default.
const (
	VerifyLimit   = 24 * time.Hour
	VerifyDefault = 20 * time.Minute
)

// Probed is the result of a probe or a verification.
type Probed struct {
	Code     int    `json:"code"`             // its exit status; 127 and 126 as in a shell
	Signal   string `json:"signal,omitempty"` // the signal that ended it
	TimedOut bool   `json:"timed_out,omitempty"`
	Output   string `json:"output,omitempty"` // the end of what it printed: of a probe at most 4 KiB, of a verification 10
	Log      string `json:"log,omitempty"`    // the file with all output of a verification, by the shim's path
}

// Failure returns why a probe with that timeout failed, with the last line of its output, or "" if
// it succeeded.
func (p Probed) Failure(timeout time.Duration) string {
	how := p.Ended(timeout)
	if printed := strings.TrimSpace(p.Output); how != "" && printed != "" {
		how += ": " + printed[strings.LastIndexByte(printed, '\n')+1:]
	}
	return how
}

// Ended returns how a probe or a verification with that timeout ended, or "" if it succeeded.
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

// The arguments of agentform-shim that select its mode. Without one it is the parent of an agent.
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
	CodeUnsupported = "unsupported" // this shim does not support it
	CodeInvalid     = "invalid"     // the request makes no sense
	CodeEnding      = "ending"      // the run is being stopped
	CodeBusy        = "busy"        // try again later
	CodeFailed      = "failed"      // it was tried, but the processes did not respond
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

// Hello is a shim's description of itself.
type Hello struct {
	Protocol int          `json:"protocol"` // its rundir.Version
	Run      string       `json:"run"`
	Shim     proc.Process `json:"shim"`
}

// Status is the status of a run.
type Status struct {
	Agent     proc.Process  `json:"agent"`
	StartedAt time.Time     `json:"started_at"`
	Ran       time.Duration `json:"ran_ns"` // without the time it was frozen; compared with the timeout
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
	ExitNotFound = 127 // the command does not exist
	ExitCannot   = 126 // any other reason why it cannot start
)
