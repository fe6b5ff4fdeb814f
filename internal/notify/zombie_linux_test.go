//go:build real

package notify

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestZombieOfACommand: what a command leaves behind may stay a zombie, where process 1 does
// not reap what it inherits, as in many containers.
func TestZombieOfACommand(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	n := New(ctx, Config{Dir: t.TempDir(), Environ: os.Environ(), Targets: []Target{{Name: "a", On: []string{"done"}, Command: []string{"sh", "-c", "echo $$ > group; true &"}}}})
	n.Send(Event{Event: "done"})
	var group int
	for group == 0 {
		b, _ := os.ReadFile(filepath.Join(n.config.Dir, "group"))
		group, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	cancel()
	n.Close()
	for {
		if pid, err := syscall.Wait4(-group, nil, 0, nil); pid <= 0 && !errors.Is(err, syscall.EINTR) {
			return // it was reaped
		}
	}
}
