package hub

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"github.com/agentform/agentform/state"
)

// Whatever stands where the hub keeps how far it has told does not hold it up.
func TestNotifiedIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, notifiedFile), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	if before := readNotified(dir); !before.At.IsZero() { // without waiting for the pipe's other end
		t.Errorf("a pipe says %v", before)
	}
	recordNotified(dir, func(n *notified) { n.At = at })
	recordNotified(dir, func(n *notified) { n.Reported = at.Add(1) })
	if got := readNotified(dir); !got.At.Equal(at) || !got.Reported.Equal(at.Add(1)) {
		t.Errorf("read %v, want %s", got, at)
	}
}

// Whoever asks whether a hub runs holds a shared lock for a moment. A hub that starts just
// then waits; it does not take the question for another hub.
func TestClaimWaitsForReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, LockFile)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		reader := flock.New(path, flock.SetFlag(os.O_RDONLY))
		if got, err := reader.TryRLock(); err != nil || !got {
			t.Fatalf("TryRLock = %t, %v", got, err)
		}
		claimed := make(chan error)
		go func() {
			free, err := Claim(dir, state.Holder{PID: os.Getpid(), Host: "here"}, "")
			if err == nil {
				free()
			}
			claimed <- err
		}()
		synctest.Wait()
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-claimed; err != nil {
			t.Error(err)
		}
	})
}

// The lock of a hub that runs is refused at once, and names it.
func TestClaimIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, first := t.TempDir(), state.Holder{PID: os.Getpid(), Host: "here"}
		free, err := Claim(dir, first, "")
		if err != nil {
			t.Fatal(err)
		}
		defer free()
		start := time.Now()
		_, err = Claim(dir, state.Holder{PID: os.Getpid(), Host: "here"}, "")
		var taken *TakenError
		if !errors.As(err, &taken) || taken.Holder.PID != first.PID {
			t.Errorf("a second claim: %v", err)
		}
		if waited := time.Since(start); waited != 0 {
			t.Errorf("waited %s for a hub that runs", waited)
		}
	})
}
