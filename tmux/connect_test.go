//go:build real

package tmux_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// TestPauseByNewRuntimes checks that Pause works without a current client, which
// detach-client requires even with -s. Only a busy server shows the difference.
func TestPauseByNewRuntimes(t *testing.T) {
	b := newBed(t)
	var wg sync.WaitGroup
	for i := range 8 {
		l := b.launch(t, fmt.Sprintf("pausing%d", i))
		p := b.create(t, l)
		wg.Go(func() {
			for range 15 {
				r := tmux.New(b.config)
				if err := r.Pause(t.Context(), p, l.Mark.Run, session.Detach); err != nil {
					t.Error(err)
				}
				if err := r.Resume(t.Context(), p, l.Mark.Run); err != nil {
					t.Error(err)
				}
				r.Close()
			}
		})
	}
	wg.Wait()
}
