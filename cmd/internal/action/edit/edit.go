// Package edit changes the state without inspecting sessions.
package edit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Moved is a session with a new address.
type Moved struct{ From, To session.Address }

// Removed is a session that was removed from the state.
type Removed struct {
	session.Address
	Place string // where it was, with its engine, for people; empty: nowhere
}

// Done is the result of a change, even a failed one.
type Done struct {
	Backup   string // the file with the previous state; empty: nothing changed, or there was none
	Removed  []Removed
	Moved    []Moved
	Sessions int // in the state that was pushed
	Serial   uint64
}

// Change edits the state. It removes the backup if nothing was written.
func Change(ctx context.Context, p *project.Project, edit func(*state.Store) error) (backup string, err error) {
	store, err := p.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if p.Manifest.OutputsDir != "" {
		store.MirrorTo(p.Manifest.OutputsDir)
	}
	before := store.State().Serial
	if backup, err = store.Backup(); err != nil {
		return "", err
	}
	err = edit(store)
	if backup != "" && store.State().Serial == before {
		return "", errors.Join(err, os.Remove(backup))
	}
	return backup, err
}

// notElsewhere returns an error if another machine has one of the named sessions.
func notElsewhere(p *project.Project, records []session.Record, named []session.Address, remedy string) error {
	var errs []error
	for _, address := range named {
		r := project.Find(records, address)
		if p.Stored.Shared() && !sharedstate.Mine(*r, p.Owner()) {
			errs = append(errs, fmt.Errorf("%s is on %s: %s", address, r.Owner.Host, remedy))
		}
	}
	return errors.Join(errs...)
}

// Remove removes sessions from the state, with force even those of other machines.
func Remove(ctx context.Context, p *project.Project, s state.State, typed []string, force bool) (done Done, err error) {
	if _, err := choose.All(choose.Addresses(nil, s.Sessions), typed); err != nil {
		return done, err
	}
	done.Backup, err = Change(ctx, p, func(store *state.Store) error {
		named, err := choose.All(choose.Addresses(nil, store.State().Sessions), typed)
		if err != nil {
			return err
		}
		if !force {
			if err := notElsewhere(p, store.State().Sessions, named, "remove it there, or, if that machine is gone, with --force"); err != nil {
				return err
			}
		}
		for _, address := range named {
			place := placeOf(*project.Find(store.State().Sessions, address))
			if err := store.Delete(address); err != nil {
				return fmt.Errorf("forget %s: %w", address, err)
			}
			done.Removed = append(done.Removed, Removed{address, place})
		}
		return nil
	})
	return done, err
}

func placeOf(r session.Record) string {
	at := r.Location
	switch {
	case at.Name == "":
		return ""
	case at.Traits().Server != "":
		return at.Traits().Noun + " " + at.Name + " on " + at.Socket
	}
	return at.Traits().Noun + " " + at.Name + " of " + r.Spec.Runtime.Engine()
}

// Move moves a session, or all instances of a block, to another address.
func Move(ctx context.Context, p *project.Project, s state.State, from, to string) (done Done, err error) {
	target, err := choose.New(to)
	if err != nil {
		return done, err
	}
	if _, err := choose.Resolve(choose.Addresses(nil, s.Sessions), from); err != nil {
		return done, err
	}
	done.Backup, err = Change(ctx, p, func(store *state.Store) error {
		records := store.State().Sessions
		known := choose.Addresses(nil, records)
		named, err := choose.Resolve(known, from)
		if err != nil {
			return err
		}
		moves, err := renamed(known, named, target)
		if err != nil {
			return err
		}
		if err := notElsewhere(p, records, named, "move it there"); err != nil {
			return err
		}
		for _, old := range named {
			r := *project.Find(records, old)
			r.Address, r.Spec.Address = moves[old], moves[old]
			if err := store.Move(old, r); err != nil {
				return err
			}
			done.Moved = append(done.Moved, Moved{old, r.Address})
		}
		return nil
	})
	return done, err
}

func renamed(known, named []session.Address, to session.Address) (map[session.Address]session.Address, error) {
	_, keyed := to.Key()
	moves := map[session.Address]session.Address{}
	for _, old := range named {
		moves[old] = to
		if i := strings.IndexByte(string(old), '['); i >= 0 && len(named) > 1 {
			if keyed {
				return nil, fmt.Errorf("%d sessions cannot all become %s: give one of them, or a block without a key:\n%s", len(named), to, choose.List(named))
			}
			moves[old] = to + old[i:]
		}
		if moves[old] == old {
			return nil, fmt.Errorf("%s is already its address: nothing to do", old)
		}
		if now := moves[old]; slices.Contains(known, now) {
			return nil, fmt.Errorf("%s cannot become %s: another session has that address\nagentform state rm %s removes it from the state", old, now, target.Quoted(now))
		}
	}
	return moves, nil
}

// Text returns the state in Push's format.
func Text(p *project.Project) ([]byte, error) {
	st, err := state.Read(p.State)
	if err != nil {
		return nil, err
	}
	b, err := st.Encode()
	if err != nil {
		err = fmt.Errorf("print state: %w", err)
	}
	return b, err
}

// Push replaces the state. file is the text's name in messages. With force, lineage and serial are
// not checked.
func Push(ctx context.Context, p *project.Project, text []byte, file string, force bool) (done Done, err error) {
	given, err := state.Decode(text)
	if err == nil {
		err = p.Check(given)
	}
	if err != nil {
		return done, fmt.Errorf("%s cannot be pushed: %w", file, err)
	}
	p.Anew = force
	done.Backup, err = Change(ctx, p, func(store *state.Store) error {
		err := store.Push(given, force)
		if stale := (*state.StaleError)(nil); errors.As(err, &stale) {
			return fmt.Errorf("%s cannot be pushed: %w\n--force pushes it anyway", file, err)
		}
		done.Sessions, done.Serial = len(given.Sessions), store.State().Serial
		return err
	})
	return done, err
}
