//go:build real

package docker_test

import (
	"testing"

	"github.com/agentform/agentform/internal/test/relaytest"
	"github.com/agentform/agentform/session"
)

func TestTerminalIsRelayed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "app"))
	b.listening(t, p)
	relaytest.Test(t, b.runtime.Attach(p), func() session.Live {
		seen, _ := b.see(t, p)
		return seen
	})
}
