// Package executable writes programs that a test runs.
package executable

import (
	"os"
	"syscall"
	"testing"
)

// Write writes a program as os.WriteFile does. No process may be forked meanwhile: one
// that inherits the open file makes the execution fail with ETXTBSY.
func Write(t testing.TB, path string, text []byte, mode os.FileMode) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, text, mode); err != nil {
		t.Fatal(err)
	}
}
