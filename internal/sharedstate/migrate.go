package sharedstate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Migration moves a state to another backend, or to this machine alone.
type Migration struct {
	Path     string // of the state file
	From, To *Copy  // nil: the state file alone
	Owner    session.Owner
	Who      state.Holder
	Wait     time.Duration // for each lock
	Waiting  func(backend.Info)
	Anyway   bool // Reconfigure: use also what was moved elsewhere since
	// Open locks and opens the state file.
	Open func(context.Context) (*state.Store, error)
	// Agree decides whether the first state replaces the second, which is empty if there is
	// none there.
	Agree func(from, to state.State) error
}

// Moved is the outcome of a migration.
type Moved struct {
	Backups  []string // paths of the local state, and of replaced states elsewhere
	Sessions int      // in the state that is used now
	Copied   bool     // else the state that was there is used
	LeftOut  int      // records of other machines that were not kept
}

// Run moves the state. Both sides are locked meanwhile, and the old one records the new place, so
// that it is no longer used. A state that other machines have already moved there is used
// unchanged, with this machine's facts about its own sessions.
func (m Migration) Run(ctx context.Context) (moved Moved, err error) {
	var holds [2]*backend.Hold
	for i, c := range []*Copy{m.From, m.To} {
		if c == nil {
			continue
		}
		if holds[i], err = c.acquire(ctx, Opening{Who: m.Who, Wait: m.Wait, Waiting: m.Waiting}); err != nil {
			return moved, err
		}
		defer func() { err = errors.Join(err, release(holds[i])) }()
	}
	return m.locked(ctx, holds[0], holds[1])
}

// locked moves the state once the backends are locked.
func (m Migration) locked(ctx context.Context, from, to *backend.Hold) (moved Moved, err error) {
	store, err := m.open(ctx, &moved)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	mark, err := ReadMark(m.Path)
	if err != nil {
		return moved, err
	}
	left := source{hold: from}
	if m.From != nil {
		if left.text, left.version, err = m.From.Backend.Read(ctx); err != nil && !errors.Is(err, backend.ErrNone) {
			return moved, &UnreachableError{m.From.Name, err}
		}
		left.movedTo = movedTo(left.text)
		switch {
		case left.movedTo != "" && left.movedTo != m.name():
			return moved, &LeftError{m.From.Name, left.movedTo}
		case err == nil && left.version != mark.Version:
			if mark, err = m.From.take(store, left.text, left.version, mark); err != nil {
				return moved, err
			}
		}
	}
	if m.To == nil {
		return m.toFile(ctx, store, left, moved)
	}
	return m.toBackend(ctx, to, store, mark, left, moved)
}

// open opens the state file and makes a backup of it.
func (m Migration) open(ctx context.Context, moved *Moved) (*state.Store, error) {
	store, err := m.Open(ctx)
	if err != nil {
		return nil, err
	}
	backup, err := store.Backup()
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	if backup != "" {
		moved.Backups = append(moved.Backups, backup)
	}
	return store, nil
}

// name returns what the new place is called elsewhere.
func (m Migration) name() string {
	if m.To != nil {
		return m.To.Name
	}
	return "the state file of " + m.Owner.Host + ", " + m.Path
}

// source is the state of the backend that is left.
type source struct {
	hold    *backend.Hold // nil: the state file is left
	text    []byte        // nil: there is none
	version backend.Version
	movedTo string
}

// leave notes in the backend that is left where the state is now. undo takes that back.
func (s *source) leave(ctx context.Context, to string) (undo func() error, err error) {
	if s.hold == nil || s.text == nil || s.movedTo != "" {
		return func() error { return nil }, nil
	}
	d, err := decode(s.text)
	if err != nil {
		return nil, err
	}
	d.MovedTo = to
	text, err := d.encode()
	if err != nil {
		return nil, err
	}
	v, err := s.hold.Write(ctx, text, s.version)
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := s.hold.Write(context.WithoutCancel(ctx), s.text, v)
		return err
	}, nil
}

// toFile ends the sharing of the open state.
func (m Migration) toFile(ctx context.Context, store *state.Store, left source, moved Moved) (Moved, error) {
	from := store.State()
	moved.Sessions = len(from.Sessions)
	if others := m.others(from.Sessions); len(others) > 0 {
		return moved, &OthersError{others}
	}
	if err := m.Agree(from, state.State{}); err != nil {
		return moved, err
	}
	undo, err := left.leave(ctx, m.name())
	if err != nil {
		return moved, &UnreachableError{m.From.Name, err}
	}
	if err := os.Remove(MarkOf(m.Path)); err != nil {
		return moved, errors.Join(err, undo())
	}
	moved.Copied = true
	return moved, nil
}

// others returns the sessions that only other machines can see and end.
func (m Migration) others(sessions []session.Record) (others []session.Record) {
	for _, r := range sessions {
		if !r.Spec.Runtime.Traits().Everywhere && !Mine(r, m.Owner) {
			others = append(others, r)
		}
	}
	return others
}

// toBackend moves the open state to the new backend.
func (m Migration) toBackend(ctx context.Context, hold *backend.Hold, store *state.Store, mark Mark, left source, moved Moved) (Moved, error) {
	from := store.State()
	text, v, there, err := m.there(ctx)
	if err != nil {
		return moved, err
	}
	known := v != "" && there.Lineage == from.Lineage && there.MovedTo == ""
	switch {
	case known && (there.Serial >= from.Serial || left.movedTo != ""):
		err := m.join(ctx, hold, store, text, v)
		moved.Sessions = len(store.State().Sessions)
		return moved, err
	case v != "" && there.MovedTo == "" && len(from.Sessions) == 0:
		moved.Sessions = len(there.Sessions)
		return moved, m.use(store, text, v)
	case from.Serial == 0 && len(from.Sessions) == 0:
		return moved, m.To.begin()
	}
	moved.Sessions = len(from.Sessions)
	if err := m.Agree(from, there.State); err != nil {
		return moved, err
	}
	if v != "" {
		replaced := fmt.Sprintf("%s.replaced.%d.backup", m.Path, there.Serial)
		if err := renameio.WriteFile(replaced, text, 0o600); err != nil {
			return moved, fmt.Errorf("back up what is replaced: %w", err)
		}
		moved.Backups = append(moved.Backups, replaced)
	}
	undo, err := left.leave(ctx, m.To.Name)
	if err != nil {
		return moved, &UnreachableError{m.From.Name, err}
	}
	s := &sender{copy: m.To, hold: hold, store: store, prompts: map[string]string{}}
	s.mark.Version, s.mark.Restarts = v, mark.Restarts
	if from.Serial <= there.Serial && there.Lineage == from.Lineage {
		from.Serial = there.Serial + 1 // readers must see that it has changed
		err = store.Reset(from)
	}
	if err == nil {
		err = s.send(from.Serial, true)
	}
	if err != nil {
		return moved, errors.Join(fmt.Errorf("copy the state to %s: %w", m.To.Name, err), undo())
	}
	moved.Copied = true
	return moved, nil
}

// there reads the new backend. The version is "" if it has no state.
func (m Migration) there(ctx context.Context) (text []byte, v backend.Version, d document, err error) {
	text, v, err = m.To.Backend.Read(ctx)
	if errors.Is(err, backend.ErrNone) {
		return nil, "", d, nil
	}
	if err == nil {
		d, err = decode(text)
	}
	if err != nil {
		return nil, "", d, &UnreachableError{m.To.Name, err}
	}
	return text, v, d, nil
}

// empty removes all records from the open copy once it is no longer marked as a copy.
func (m Migration) empty(store *state.Store, lineage string) error {
	if err := os.Remove(MarkOf(m.Path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return store.Reset(state.State{Version: state.Version, Lineage: lineage})
}

// use replaces the open state by the new backend's.
func (m Migration) use(store *state.Store, text []byte, v backend.Version) error {
	if err := m.empty(store, store.State().Lineage); err != nil {
		return err
	}
	_, err := m.To.take(store, text, v, Mark{})
	return err
}

// join replaces the open state by the new backend's of the same lineage, except for the sessions of
// this machine, and sends these.
func (m Migration) join(ctx context.Context, hold *backend.Hold, store *state.Store, text []byte, v backend.Version) error {
	mark, err := m.To.take(store, text, v, Mark{})
	if err != nil || hold == nil {
		return err // without the lock the next command that changes a session sends them
	}
	s := &sender{copy: m.To, hold: hold, store: store, mark: mark, noted: true, prompts: map[string]string{}}
	if err := s.send(store.State().Serial, true); err != nil {
		return fmt.Errorf("copy the sessions of this machine to %s: %w", m.To.Name, err)
	}
	return ctx.Err()
}

// Reconfigure begins to use the new backend, or the state file alone, whatever was used
// before. Records that were not there are only in the backup, except for those of this
// machine's sessions if the lineage is the same.
func (m Migration) Reconfigure(ctx context.Context) (moved Moved, err error) {
	var text []byte
	var v backend.Version
	var there document
	if m.To != nil {
		if text, v, there, err = m.there(ctx); err != nil {
			return moved, err
		}
	}
	if there.MovedTo != "" {
		if !m.Anyway {
			return moved, &LeftError{m.To.Name, there.MovedTo}
		}
		if text, v, err = m.revive(ctx); err != nil {
			return moved, err
		}
	}
	store, err := m.open(ctx, &moved)
	if err != nil {
		return moved, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	switch from := store.State(); {
	case m.To == nil:
		err = m.keepOwn(store, &moved)
	case v != "" && there.Lineage == from.Lineage && from.Serial > 0:
		err = m.join(ctx, nil, store, text, v)
	case v != "":
		err = m.use(store, text, v)
	default:
		if err = m.empty(store, state.NewLineage()); err == nil {
			err = m.To.begin()
		}
	}
	moved.Sessions = len(store.State().Sessions)
	return moved, err
}

// keepOwn continues with only the state file, without other machines' sessions.
func (m Migration) keepOwn(store *state.Store, moved *Moved) error {
	own := store.State()
	others := m.others(own.Sessions)
	own.Sessions = slices.DeleteFunc(own.Sessions, func(r session.Record) bool {
		return slices.ContainsFunc(others, func(o session.Record) bool { return o.ID == r.ID })
	})
	if moved.LeftOut = len(others); moved.LeftOut > 0 {
		own.Serial++
		if err := store.Reset(own); err != nil {
			return err
		}
	}
	if err := os.Remove(MarkOf(m.Path)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// revive removes the note that the state was moved elsewhere.
func (m Migration) revive(ctx context.Context) (text []byte, v backend.Version, err error) {
	hold, err := m.To.acquire(ctx, Opening{Who: m.Who, Wait: m.Wait, Waiting: m.Waiting})
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, release(hold)) }()
	_, v, d, err := m.there(ctx)
	if err != nil {
		return nil, "", err
	}
	d.MovedTo = ""
	if text, err = d.encode(); err == nil {
		v, err = hold.Write(ctx, text, v)
	}
	if err != nil {
		return nil, "", &UnreachableError{m.To.Name, err}
	}
	return text, v, nil
}
