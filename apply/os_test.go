package apply_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

type ctx = context.Context

// withCancel is a context that ends with the test, or when something hangs.
func withCancel(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), time.Minute)
}

// alive reports whether a process still runs a second from now. A zombie that
// nobody has reaped does not.
func alive(pid string) bool {
	for range 50 {
		stat, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
		if s := strings.TrimSpace(string(stat)); s == "" || s[0] == 'Z' {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}
