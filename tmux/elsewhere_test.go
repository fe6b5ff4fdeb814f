//go:build real

package tmux_test

import (
	"errors"
	"os"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// TestNameOnAnotherServer checks that a name must be available on all of the project's servers,
// including those that agentform has not started.
func TestNameOnAnotherServer(t *testing.T) {
	b := newBed(t)
	if err := os.MkdirAll(b.config.SocketDir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.tmux(t, b.socket(7), "-f", "/dev/null", "new-session", "-d", "-s", "theirs", "sleep", "1000")
	if _, err := b.runtime.Create(t.Context(), b.launch(t, "theirs")); !errors.Is(err, session.ErrExists) {
		t.Errorf("a name on another server: %v", err)
	}
	b.create(t, b.launch(t, "ours"))
	b.tmux(t, b.socket(7), "kill-session", "-t", "theirs")
	wait.For(t, "a name is free again", func() (any, bool) {
		_, err := b.runtime.Create(t.Context(), b.launch(t, "theirs"))
		if err != nil && !errors.Is(err, session.ErrExists) {
			t.Fatalf("a name that is free again: %v", err)
		}
		return err, err == nil
	})
}
