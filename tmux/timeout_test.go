//go:build real

package tmux_test

import (
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

var _ session.TimeoutSetter = (*tmux.Runtime)(nil)

func TestTimeoutOfALiveRun(t *testing.T) {
	b := newBed(t)
	l := b.launch(t, "long")
	p := b.create(t, l)
	if err := b.runtime.SetTimeout(t.Context(), p, "0123456789abcdef", time.Hour); err == nil {
		t.Error("the timeout of another run was changed")
	}
	if err := b.runtime.SetTimeout(t.Context(), p, l.Mark.Run, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	var exit *session.Exit
	wait.For(t, "the run has ended", func() (any, bool) {
		lives, err := b.runtime.Observe(t.Context(), false)
		if err != nil || len(lives) != 1 {
			t.Fatalf("observed %d, %v", len(lives), err)
		}
		exit = lives[0].Exit
		return lives, exit != nil
	})
	if exit.Cause != "timeout" {
		t.Errorf("it ended by %q, want timeout", exit.Cause)
	}
}
