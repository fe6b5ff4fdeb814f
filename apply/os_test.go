package apply_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
)

type ctx = context.Context

// withCancel is a context that ends with the test, or when something hangs.
func withCancel(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), time.Minute)
}

// alive reports whether a process still runs a second from now. A zombie that
// nobody has reaped does not.
func alive(pid string) bool {
	id, err := strconv.Atoi(pid)
	for range 50 {
		stat, ok := proc.ReadStat(id)
		if err != nil || !ok || !stat.Alive() {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}
