package tmux

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/session"
)

// SetTimeout changes how long a live run may last, counted from its start; 0:
// for ever. A run that is longer already is ended at once.
func (r *Runtime) SetTimeout(ctx context.Context, p session.Place, run string, timeout time.Duration) error {
	_, _, err := r.holding(ctx, p, run)
	if err == nil {
		err = r.askGuest(ctx, run, func(c *shim.Client, ctx context.Context) error {
			return c.Set(ctx, shim.Settings{Timeout: &timeout})
		})
	}
	if err != nil {
		return fmt.Errorf("change the timeout of session %q: %w", p.Name, err)
	}
	return nil
}
