// Package backend stores the state of a project where many machines reach it.
package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

// Backend stores one state and the lock of its writers. Unless stated otherwise, an error means
// that the backend was unreachable or refused, and that its content is unknown.
type Backend interface {
	// Read returns the state and its version. The error is ErrNone if there is none.
	Read(ctx context.Context) (text []byte, v Version, err error)

	// Write replaces the state that has version seen, "" for none, and returns the new version. It
	// requires the lock with that id. The error is a *ChangedError if the state has another
	// version, and a *LostError if another id has the lock. A reader never sees a part of a write.
	Write(ctx context.Context, text []byte, seen Version, id string) (Version, error)

	// Lock takes the lock, or renews it if i.ID has it, and returns how long it lasts without a
	// renewal: 0 means without end. The error is a *HeldError if another id has it, and a
	// *LostError if it was taken from i.ID.
	Lock(ctx context.Context, i Info) (lease time.Duration, err error)

	// Unlock releases the lock of i.ID. It is not an error if the lock is free. The error is a
	// *LostError if another id has it.
	Unlock(ctx context.Context, i Info) error

	// Holder returns the lock's holder. The error is ErrNone if it is free.
	Holder(ctx context.Context) (Info, error)
}

// Version identifies what a backend stores at some time: an ETag, a number, a checksum.
type Version string

// Lease is how long a lock lasts without a renewal, where the backend can tell.
const Lease = 60 * time.Second

// AnswerTimeout bounds the wait for the answer to one request. One that takes as long is not
// repeated: a server that hangs must not hold up what does not need it.
const AnswerTimeout = 15 * time.Second

// Info describes a lock, with the names of Terraform's LockInfo.
type Info struct {
	ID        string    `json:"ID"`
	Operation string    `json:"Operation"` // apply
	Info      string    `json:"Info,omitempty"`
	Who       string    `json:"Who"` // user@host
	Version   string    `json:"Version,omitempty"`
	Created   time.Time `json:"Created"`
	Path      string    `json:"Path,omitempty"`
	// Renewed is the time of the last renewal by the backend's clock, zero if the backend
	// does not tell.
	Renewed time.Time `json:"Renewed,omitzero"`
	// Process has the lock; nil: it is not known.
	Process *Process `json:"Process,omitempty"`
}

// ErrNone reports that there is no state, or that the lock is free.
var ErrNone = errors.New("there is none")

// ChangedError reports that another process has written the state since it was read.
type ChangedError struct{ Seen, Found Version }

func (e *ChangedError) Error() string {
	return "another command has written the state since it was read"
}

// HeldError reports that another process has the lock.
type HeldError struct{ Holder Info } // zero if unknown

func (e *HeldError) Error() string {
	if e.Holder.ID == "" {
		return "the state is locked, and the backend does not say by whom"
	}
	return fmt.Sprintf("the state is locked by %s: %s, lock %s", e.Holder.Who, e.Holder.Operation, e.Holder.ID)
}

// LostError reports that the lock was released by force, or expired and was taken.
type LostError struct{ Holder Info } // the current holder; zero if none or unknown

func (e *LostError) Error() string {
	if e.Holder.ID == "" {
		return "the state's lock was lost: someone released it, or it expired"
	}
	return fmt.Sprintf("the state's lock was lost to %s: %s, lock %s", e.Holder.Who, e.Holder.Operation, e.Holder.ID)
}

// Refused returns the result of a write of text that the backend refused, since the state has
// another version than seen. It is not an error if that is text: then an earlier attempt wrote it,
// whose answer was lost.
func Refused(ctx context.Context, b Backend, text []byte, seen Version) (Version, error) {
	found, v, err := b.Read(ctx)
	switch {
	case err != nil && !errors.Is(err, ErrNone):
		return "", err
	case err == nil && bytes.Equal(found, text):
		return v, nil
	}
	return "", &ChangedError{Seen: seen, Found: v}
}
