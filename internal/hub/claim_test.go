package hub

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Whatever stands where the hub keeps how far it has told does not hold it up.
func TestNotifiedIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, notifiedFile), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	if before := readNotified(dir); !before.IsZero() { // without waiting for the pipe's other end
		t.Errorf("a pipe says %s", before)
	}
	writeNotified(dir, at)
	if got := readNotified(dir); !got.Equal(at) {
		t.Errorf("read %s, want %s", got, at)
	}
}
