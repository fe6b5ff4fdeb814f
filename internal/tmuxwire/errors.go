package tmuxwire

import (
	"errors"
	"strings"
)

// The reasons why a tmux command failed.
var (
	ErrExists    = errors.New("the session exists")
	ErrNoSession = errors.New("there is no such session")
	// ErrNoServer means that no server listens on the socket, or that it exited during
	// the command. A server that was killed closes new connections until it has exited.
	ErrNoServer = errors.New("no server is running")
)

// reasons is in the order in which it is searched.
var reasons = []struct {
	text   string
	reason error
}{
	{"duplicate session", ErrExists},
	{"can't find ", ErrNoSession},
	{"no current target", ErrNoSession}, // a server without sessions
	{"(Permission denied)", nil},        // error connecting to … (Permission denied): does not change
	{"server exited", ErrNoServer},
	{"lost server", ErrNoServer},
	{"no server running", ErrNoServer},
	{"error connecting to", ErrNoServer},
}

// Reason returns the reason of a failure by what tmux printed to its standard error; nil
// if it is none of the above.
func Reason(stderr string) error {
	for _, r := range reasons {
		if strings.Contains(stderr, r.text) {
			return r.reason
		}
	}
	return nil
}
