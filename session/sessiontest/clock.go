package sessiontest

import (
	"context"
	"sync"
	"time"
)

// Clock is the time in the scripts of a runtime: time.Now and what was slept.
type Clock struct {
	mu    sync.Mutex
	slept time.Duration
}

// Sleep advances the clock at once. The error is the context's.
func (c *Clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slept += d
	return nil
}

// Slept returns how long Sleep has slept.
func (c *Clock) Slept() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slept
}

// Now returns the time in the scripts: agentform.Launcher.Now of programs that sleep by
// Sleep.
func (c *Clock) Now() time.Time { return time.Now().Add(c.Slept()) }
