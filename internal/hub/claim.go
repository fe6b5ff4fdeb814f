package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/state"
)

const (
	// LockFile is in the data directory once a hub has supervised the project.
	LockFile     = "hub.lock"
	notifiedFile = "hub.json"
)

// TakenError reports that another hub supervises the project.
type TakenError struct{ Holder state.Holder }

func (e *TakenError) Error() string {
	if e.Holder.PID == 0 {
		return "another hub is already running for this project"
	}
	words := fmt.Sprintf("a hub is already running for this project: pid %d on %s, started by %s at %s",
		e.Holder.PID, e.Holder.Host, e.Holder.User, e.Holder.Since.Local().Format(time.DateTime))
	if Suspended(e.Holder) {
		words += "\n" + Continue(e.Holder)
	}
	return words
}

// claim is what the lock file says of the hub.
type claim struct {
	state.Holder
	Settings string `json:"settings,omitempty"` // those of Config
}

// Claim makes this process, with these settings, the project's hub until it calls free or
// ends. The error is a *TakenError if there is a hub.
func Claim(dataDir string, who state.Holder, settings string) (free func(), err error) {
	fail := func(err error) (func(), error) { return nil, fmt.Errorf("claim the project for the hub: %w", err) }
	path := filepath.Join(dataDir, LockFile)
	if err := layout.MakeDataDir(dataDir); err != nil {
		return fail(err)
	}
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	for until := time.Now().Add(lateRelease); ; time.Sleep(10 * time.Millisecond) {
		taken, err := l.TryLock()
		if err != nil {
			return fail(err)
		}
		if taken {
			break
		}
		h, running := Running(dataDir)
		if free := !running || h.PID == 0 || ended(h, who); !free || time.Now().After(until) {
			return nil, &TakenError{h}
		}
	}
	who.Since = time.Now().Truncate(time.Second)
	b, err := json.Marshal(claim{who, settings})
	if err == nil {
		err = os.WriteFile(path, append(b, '\n'), 0o600)
	}
	if err != nil {
		return fail(errors.Join(err, l.Unlock()))
	}
	ours, _ := os.Stat(path)
	return func() {
		if now, err := os.Stat(path); err == nil && os.SameFile(ours, now) {
			_ = os.Truncate(path, 0) // for people only: the lock is what counts
		}
		_ = l.Unlock()
	}, nil
}

// lateRelease is how long the lock may be held without a hub: a process that a killed hub
// was starting holds it until it executes its program, and whoever calls Running holds it
// for a moment.
const lateRelease = 5 * time.Second

func ended(h, us state.Holder) bool {
	return h.PID > 0 && h.Host == us.Host && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}

// Suspended reports whether the process of a hub on this host is stopped by a signal.
func Suspended(h state.Holder) bool {
	here, err := os.Hostname()
	return err == nil && h.Host == here && h.PID > 1 && proc.Stopped(h.PID)
}

// Continue returns how to continue a suspended hub.
func Continue(h state.Holder) string {
	return fmt.Sprintf("its process is stopped (SIGSTOP or Ctrl-Z): kill -CONT %d resumes it", h.PID)
}

// Running returns who supervises the project of a data directory, and whether a hub does.
func Running(dataDir string) (state.Holder, bool) {
	path := filepath.Join(dataDir, LockFile)
	f, err := os.Open(path)
	if err != nil {
		return state.Holder{}, false
	}
	defer f.Close()
	// A shared lock is available only if no hub has the exclusive one.
	l := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := l.TryRLock()
	_ = l.Close()
	if err != nil || free {
		return state.Holder{}, false
	}
	return readClaim(path).Holder, true
}

// Settings returns the settings of the hub that runs in a data directory.
func Settings(dataDir string) string { return readClaim(filepath.Join(dataDir, LockFile)).Settings }

// readClaim reads a claim, which is written after the lock was taken.
func readClaim(path string) (c claim) {
	for range 2 {
		if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &c) == nil {
			return c
		}
		time.Sleep(2 * time.Millisecond)
	}
	return claim{}
}

// notified is what a hub has notified of, and knows for others.
type notified struct {
	At       time.Time `json:"at,omitzero"`       // the last event
	Reported time.Time `json:"reported,omitzero"` // when the last daily report was due
	// Quotas are those that are used up, by the digest of their credential.
	Quotas map[string]plan.Quota `json:"quotas,omitempty"`
}

// maxNotifyAge limits the age of events without a hub that are notified later.
const maxNotifyAge = time.Hour

func readNotified(dataDir string) (last notified) {
	if f, err := layout.OpenRegular(filepath.Join(dataDir, notifiedFile), syscall.O_NOFOLLOW); err == nil {
		defer f.Close()
		_ = json.NewDecoder(f).Decode(&last) // nothing counts as notified then
	}
	return last
}

// recordNotified records what was notified for the next hub. After an error, it may be
// notified twice.
func recordNotified(dataDir string, change func(*notified)) {
	last := readNotified(dataDir)
	change(&last)
	b, err := json.Marshal(last)
	if err == nil {
		_ = renameio.WriteFile(filepath.Join(dataDir, notifiedFile), append(b, '\n'), 0o600, renameio.WithTempDir(dataDir))
	}
}
