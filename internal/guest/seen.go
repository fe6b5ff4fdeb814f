package guest

import "syscall"

// Stranger is what can be seen of a process that somebody else started.
type Stranger struct {
	Dir  string   // where it works; empty: not known
	Argv []string // of what works in its terminal's foreground: its own, or, of a shell, its job's
}

// SignalName is a signal's name, SIGTERM.
func SignalName(number int) string { return signalName(syscall.Signal(number)) }
