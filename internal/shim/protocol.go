package shim

import "time"

// ProtocolVersion is the version of Config and of the protocol. Both only ever
// gain fields and operations, so that each later agentform speaks to each guest
// that still runs.
const ProtocolVersion = 1

// lineLimit bounds a request and a reply, each one JSON line: 64 KiB.
const lineLimit = 64 << 10

// The operations. Restart is known by name and answers CodeUnsupported.
const (
	opHello   = "hello"
	opStatus  = "status"
	opPause   = "pause"
	opResume  = "resume"
	opStop    = "stop"
	opSet     = "set"
	opProbe   = "probe"
	opUnread  = "unread"
	opRestart = "restart"
)

// The codes of an Error.
const (
	CodeUnsupported = "unsupported" // this guest does not do that
	CodeInvalid     = "invalid"     // the request makes no sense
	CodeEnding      = "ending"      // the run is being ended
	CodeBusy        = "busy"        // not now
	CodeFailed      = "failed"      // it was tried, and the processes did not follow
)

// Error is a guest's refusal.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return "guest: " + e.Message }

// Settings change a run under way. What is nil stays as it is.
type Settings struct {
	Timeout *time.Duration `json:"timeout_ns,omitempty"` // 0: none
	Signal  *string        `json:"signal,omitempty"`
	Grace   *time.Duration `json:"grace_ns,omitempty"`
}

// Hello is what a guest says of itself.
type Hello struct {
	Protocol int    `json:"protocol"` // its ProtocolVersion
	Run      string `json:"run"`
	Guest    Proc   `json:"guest"`
}

// Status is how a run stands.
type Status struct {
	Agent     Proc          `json:"agent"`
	StartedAt time.Time     `json:"started_at"`
	Ran       time.Duration `json:"ran_ns"` // without the time it was frozen: what the timeout is compared with
	Frozen    bool          `json:"frozen,omitempty"`
	Ending    string        `json:"ending,omitempty"` // the cause, while the run is being ended
	Timeout   time.Duration `json:"timeout_ns,omitempty"`
	Signal    string        `json:"signal"`
	Grace     time.Duration `json:"grace_ns"`
}

type request struct {
	Op string `json:"op"`
	Settings
	Probe
}

type reply struct {
	OK     bool    `json:"ok"`
	Error  *Error  `json:"error,omitempty"`
	Hello  *Hello  `json:"hello,omitempty"`
	Status *Status `json:"status,omitempty"`
	Exit   *Exit   `json:"exit,omitempty"`
	Probed *Probed `json:"probed,omitempty"`
	Unread *int    `json:"unread,omitempty"`
}

func refuse(code, message string) reply {
	return reply{Error: &Error{Code: code, Message: message}}
}
