// Package tick waits in tests until the clock of the file system has moved on, so that what
// changes next has another time than what changed before.
package tick

import (
	"os"
	"path/filepath"
	"testing"
)

// Wait waits for the next tick of the clock.
func Wait(t testing.TB) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tick")
	write := func() int64 {
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime().UnixNano()
	}
	for before := write(); write() == before; {
	}
}
