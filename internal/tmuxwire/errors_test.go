package tmuxwire

import (
	"errors"
	"testing"
)

func TestReason(t *testing.T) {
	for stderr, want := range map[string]error{
		"server exited unexpectedly":                         ErrNoServer,
		"lost server":                                        ErrNoServer,
		"no server running on /s/tmux-0":                     ErrNoServer,
		"error connecting to /s/tmux-0 (Connection refused)": ErrNoServer,
		"error connecting to /s/tmux-0 (Permission denied)":  nil,
		"can't find session: app":                            ErrNoSession,
		"no current target":                                  ErrNoSession,
		"duplicate session: app":                             ErrExists,
		"protocol version mismatch (client 8, server 7)":     nil,
	} {
		if got := Reason(stderr); !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", stderr, got, want)
		}
	}
}
