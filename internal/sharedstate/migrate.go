package sharedstate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/state"
)

// Migration moves a state to another backend, or to this machine alone.
type Migration struct {
	Path     string // of the state file
	From, To *Copy  // nil: the state file alone
	Who      state.Holder
	Wait     time.Duration // for each lock
	Waiting  func(backend.Info)
	// Open locks and opens the state file.
	Open func(context.Context) (*state.Store, error)
	// Agree decides whether the first state replaces the second, which is empty if there is
	// none there.
	Agree func(from, to state.State) error
}

// Moved is the outcome of a migration.
type Moved struct {
	Backup   string // path of the backup of the state file; empty: there was nothing to back up
	Sessions int    // in the state that is used now
	Copied   bool   // else the state that was there is used
}

// Run moves the state. Both sides are locked meanwhile, and the one that is left stays as it
// is.
func (m Migration) Run(ctx context.Context) (moved Moved, err error) {
	var hold *backend.Hold
	for _, c := range []*Copy{m.From, m.To} {
		if c == nil {
			continue
		}
		if hold, err = c.acquire(ctx, Opening{Who: m.Who, Wait: m.Wait, Waiting: m.Waiting}); err != nil {
			return moved, err
		}
		held := hold
		defer func() { err = errors.Join(err, release(held)) }()
	}
	return m.locked(ctx, hold)
}

// locked moves the state once the backends are locked, the new one, if any, by hold.
func (m Migration) locked(ctx context.Context, hold *backend.Hold) (moved Moved, err error) {
	store, err := m.Open(ctx)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if moved.Backup, err = store.Backup(); err != nil {
		return moved, err
	}
	mark, err := ReadMark(m.Path)
	if err != nil {
		return moved, err
	}
	if m.From != nil {
		text, v, err := m.From.Backend.Read(ctx)
		if err != nil && !errors.Is(err, backend.ErrNone) {
			return moved, &UnreachableError{m.From.Name, err}
		}
		if err == nil && v != mark.Version {
			if mark, err = m.From.take(store, text, v, mark); err != nil {
				return moved, err
			}
		}
	}
	from := store.State()
	moved.Sessions = len(from.Sessions)
	if m.To == nil {
		if err := m.Agree(from, state.State{}); err != nil {
			return moved, err
		}
		moved.Copied = true
		return moved, os.Remove(MarkOf(m.Path))
	}
	return m.to(ctx, hold, store, mark, moved)
}

// to moves the open state to the new backend.
func (m Migration) to(ctx context.Context, hold *backend.Hold, store *state.Store, mark Mark, moved Moved) (Moved, error) {
	from := store.State()
	text, v, err := m.To.Backend.Read(ctx)
	var there document
	switch {
	case errors.Is(err, backend.ErrNone):
	case err != nil:
		return moved, &UnreachableError{m.To.Name, err}
	default:
		if there, err = decode(text); err != nil {
			return moved, &UnreachableError{m.To.Name, err}
		}
	}
	same := there.Lineage == from.Lineage && there.Serial == from.Serial
	if v != "" && (same || len(from.Sessions) == 0) {
		moved.Sessions = len(there.Sessions)
		return moved, m.use(store, text, v)
	}
	if from.Serial == 0 && len(from.Sessions) == 0 {
		return moved, m.To.begin()
	}
	if err := m.Agree(from, there.State); err != nil {
		return moved, err
	}
	s := &sender{copy: m.To, hold: hold, store: store, prompts: map[string]string{}}
	s.mark.Version, s.mark.Restarts = v, mark.Restarts
	if from.Serial <= there.Serial && there.Lineage == from.Lineage {
		from.Serial = there.Serial + 1 // readers must see that it has changed
		if err := store.Reset(from); err != nil {
			return moved, err
		}
	}
	if err := s.send(from.Serial, true); err != nil {
		return moved, fmt.Errorf("copy the state to %s: %w", m.To.Name, err)
	}
	moved.Copied = true
	return moved, nil
}

// empty removes all records from the open copy, once nothing says that it is one of a backend.
func (m Migration) empty(store *state.Store, lineage string) error {
	if err := os.Remove(MarkOf(m.Path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return store.Reset(state.State{Version: state.Version, Lineage: lineage})
}

// use replaces the open state by what the new backend has.
func (m Migration) use(store *state.Store, text []byte, v backend.Version) error {
	if err := m.empty(store, store.State().Lineage); err != nil {
		return err
	}
	_, err := m.To.take(store, text, v, Mark{})
	return err
}

// Reconfigure begins to use the new backend, or the state file alone, whatever was used
// before. It returns the path of a backup of the state file.
func (m Migration) Reconfigure(ctx context.Context) (moved Moved, err error) {
	var text []byte
	var v backend.Version
	if m.To != nil {
		text, v, err = m.To.Backend.Read(ctx)
		if err != nil && !errors.Is(err, backend.ErrNone) {
			return moved, &UnreachableError{m.To.Name, err}
		}
	}
	store, err := m.Open(ctx)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if moved.Backup, err = store.Backup(); err != nil {
		return moved, err
	}
	switch {
	case m.To == nil:
		if err := os.Remove(MarkOf(m.Path)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return moved, err
		}
	case v != "":
		if err := m.use(store, text, v); err != nil {
			return moved, err
		}
	default:
		if err := m.empty(store, state.NewLineage()); err != nil {
			return moved, err
		}
		if err := m.To.begin(); err != nil {
			return moved, err
		}
	}
	moved.Sessions = len(store.State().Sessions)
	return moved, nil
}
