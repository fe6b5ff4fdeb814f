//go:build real

package preflight

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestVersionInTime checks that a program that does not exit is killed with its children, which
// hold its output open.
func TestVersionInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho 1.2.3\nsleep 1000 &\nwait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got, err := printedVersion(t.Context(), path, t.TempDir(), os.Environ(), 100*time.Millisecond)
	if !errors.Is(err, ErrSlow) || got != "" {
		t.Errorf("%q, %v; want %v", got, err, ErrSlow)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v", took)
	}
}
