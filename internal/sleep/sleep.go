// Package sleep waits for a time that the end of a context cuts short.
package sleep

import (
	"context"
	"time"
)

// For waits for d, and reports whether ctx has not ended meanwhile.
func For(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
