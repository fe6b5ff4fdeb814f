package edit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/state"
)

// Holder returns the holder of the lock. The error is backend.ErrNone if it is free.
func Holder(ctx context.Context, p *project.Project) (backend.Info, error) {
	if p.Stored.Shared() {
		c, err := p.Stored.Copy()
		if err != nil {
			return backend.Info{}, err
		}
		return c.Holder(ctx)
	}
	h, held := state.HeldBy(p.State)
	if !held {
		return backend.Info{}, backend.ErrNone
	}
	return backend.Info{ID: fmt.Sprintf("pid %d", h.PID), Path: p.State, Operation: h.Command, Who: h.User + "@" + h.Host, Created: h.Since}, nil
}

// Lock is the lock of a shared state.
type Lock struct {
	backend.Info
	copy *sharedstate.Copy
}

// HeldBy returns the lock with this id. It fails if the state has no lock, or another one.
func HeldBy(ctx context.Context, p *project.Project, id string) (*Lock, error) {
	if !p.Stored.Shared() {
		return nil, fmt.Errorf("the state is on this machine alone: the lock of %s ends with the process that has it, which agentform state lock shows", p.State)
	}
	c, err := p.Stored.Copy()
	if err != nil {
		return nil, err
	}
	i, err := c.Holder(ctx)
	switch {
	case errors.Is(err, backend.ErrNone):
		return nil, errors.New("the state is not locked: nothing to do")
	case err != nil:
		return nil, err
	case i.ID != "" && i.ID != id:
		return nil, fmt.Errorf("the state has another lock than %s\n%s", id, sharedstate.Describe(i, time.Now()))
	}
	i.ID = id
	return &Lock{i, c}, nil
}

// String returns who holds the lock, and since when.
func (l *Lock) String() string { return sharedstate.Describe(l.Info, time.Now()) }

// Release releases the lock.
func (l *Lock) Release(ctx context.Context) error {
	if err := l.copy.Backend.Unlock(ctx, l.Info); err != nil {
		return fmt.Errorf("release the lock in %s: %w", l.copy.Name, err)
	}
	return nil
}

// Reencrypt rewrites the shared state, encrypted to the recipients of the manifest. It returns the
// backend's name.
func Reencrypt(ctx context.Context, p *project.Project) (name string, err error) {
	if p.Manifest.Encryption == nil {
		return "", errors.New("the manifest has no encryption block")
	}
	p.Stored.AllowPlain = true
	c, err := p.Stored.Copy()
	if err != nil {
		return "", err
	}
	return c.Name, c.Rewrite(ctx, sharedstate.Opening{Who: p.Who(), Wait: p.LockTimeout, Waiting: p.Waiting})
}
