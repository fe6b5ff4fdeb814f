// Package sharedstate keeps a machine's copy of a state that a backend stores for many.
//
// The copy is the state file, and everything reads that. A command brings it up to date
// before it reads, and one that changes sessions takes the backend's lock, then the file's,
// and sends what it writes. Only the machine that owns a session changes its record: what it
// could not send wins over what the backend has.
package sharedstate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/backend/sealed"
	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Copy is the copy of a shared state on this machine.
type Copy struct {
	Path    string // of the state file
	Backend backend.Backend
	Name    string // of the backend, for people: without credentials
	Place   Place  // of the backend
	Blobs   state.Blobs
	Owner   session.Owner // of sessions that this process starts
	Project string
	Version string // of agentform
	Outputs string // directory of the sessions' directories; empty: in the data directory
	Log     *slog.Logger

	mu       sync.Mutex
	restarts map[string][]health.Moment // as they were read last, by the session's id
}

// Restarts returns what counts for the restarts of a session, as it was read last.
func (c *Copy) Restarts(r session.Record) []health.Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restarts[r.ID]
}

// Mine reports whether a session is for here to see and change.
func Mine(r session.Record, here session.Owner) bool {
	switch r.Differs(here) {
	case session.SameOwner, session.Restarted:
		return true
	case session.OtherDataDir:
		o := r.Owner
		return o.DataDirID != "" && o.DataDirID == fileid.Of(here.DataDir) // it was renamed
	}
	return false
}

// Pull brings the copy up to date. A command that is changing the copy does so itself: then
// Pull does nothing. The error is an *UnreachableError if the backend was not read.
func (c *Copy) Pull(ctx context.Context) error {
	text, v, m, err := c.read(ctx)
	if err != nil || v == m.Version {
		return err
	}
	store, err := c.open(ctx, state.Holder{}, 0)
	if _, locked := errors.AsType[*state.LockedError](err); locked {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = c.take(store, text, v, m)
	return errors.Join(err, store.Close())
}

// read reads the backend and the mark. The version is "" if the backend has no state.
func (c *Copy) read(ctx context.Context) (text []byte, v backend.Version, m Mark, err error) {
	if m, err = c.check(ctx); err != nil {
		return nil, "", m, err
	}
	text, v, err = c.Backend.Read(ctx)
	switch {
	case errors.Is(err, backend.ErrNone) && m.Version != "":
		return nil, "", m, &GoneError{c.Name, c.Path}
	case errors.Is(err, backend.ErrNone):
		return nil, "", m, nil
	case errors.Is(err, sealed.ErrPlain):
		return nil, "", m, &UnreachableError{c.Name, fmt.Errorf("%w; to encrypt it: agentform state reencrypt", err)}
	case err != nil:
		return nil, "", m, &UnreachableError{c.Name, err}
	}
	if sealed.Is(text) { // else the next write would not encrypt it
		return nil, "", m, &UnreachableError{c.Name, errEncrypted}
	}
	if v != m.Version {
		if to := movedTo(text); to != "" {
			return nil, "", m, &LeftError{c.Name, to}
		}
	}
	return text, v, m, nil
}

// check refuses a copy of another backend, and a state that is not shared yet.
func (c *Copy) check(ctx context.Context) (Mark, error) {
	m, err := ReadMark(c.Path)
	if err != nil {
		return m, err
	}
	c.mu.Lock()
	c.restarts = m.Restarts
	c.mu.Unlock()
	serial, err := state.Serial(c.Path)
	switch {
	case err != nil:
		return m, err
	case m.Backend == "" && serial > 0:
		return m, c.moved(ctx, "")
	case m.Backend != "" && m.Backend != c.Name:
		return m, c.moved(ctx, m.Backend)
	case serial == 0: // there is no copy, or not any more
		return c.newMark("", 0, nil), nil
	}
	if m.Version != "" && m.Project != c.Owner.Project {
		m.Version = placedBefore
	}
	return m, nil
}

// placedBefore is the version of a copy that was written before the project was moved.
const placedBefore backend.Version = "before the project was moved"

func (c *Copy) newMark(v backend.Version, serial uint64, restarts map[string][]health.Moment) Mark {
	return Mark{Backend: c.Name, Version: v, Serial: serial, Restarts: restarts, Place: c.Place, Project: c.Owner.Project}
}

// moved returns the error of a state that is in the backend named from.
func (c *Copy) moved(ctx context.Context, from string) error {
	e := &MovedError{From: from, To: c.Name}
	text, _, err := c.Backend.Read(ctx)
	if err != nil {
		return e // either way reports the reason
	}
	if d, err := decode(text); err == nil && d.MovedTo == "" {
		lineage, err := state.Lineage(c.Path, c.Outputs)
		e.Known = err == nil && d.Lineage == lineage
	}
	return e
}

func (c *Copy) open(ctx context.Context, who state.Holder, wait time.Duration) (*state.Store, error) {
	return state.Open(ctx, c.Path, c.Project, c.Version, who, wait, c.Outputs)
}

// take replaces the open copy by the read state, except for this machine's unsent changes.
func (c *Copy) take(store *state.Store, text []byte, v backend.Version, m Mark) (Mark, error) {
	d, err := decode(text)
	if err != nil {
		return m, &UnreachableError{c.Name, err}
	}
	d.Sessions = withRepos(d.Sessions, c.placed)
	have := store.State()
	if m.Project != "" && m.Project != c.Owner.Project {
		have.Sessions = withRepos(have.Sessions, func(repo string) string { return c.placed(portable(m.Project, repo)) })
	}
	if have.Lineage != d.Lineage && slices.ContainsFunc(have.Sessions, m.started) {
		return m, &StrangerError{c.Name, d.Lineage, have.Lineage}
	}
	if have.Lineage == d.Lineage && d.Serial < m.Serial {
		return m, &UnreachableError{c.Name, &olderError{d.Serial, m.Serial, c.Path}}
	}
	for _, prompt := range d.Prompts {
		if _, err := c.Blobs.Put(prompt); err != nil {
			return m, err
		}
	}
	next := c.newMark(v, d.Serial, d.Restarts)
	if have.Serial != m.Serial && have.Serial > 0 { // this machine has changes that were not sent
		d.Sessions = c.merge(d.Sessions, have.Sessions)
		d.Serial = max(d.Serial, have.Serial) + 1
	}
	if m.Version == "" { // else the copy of a killed command looks like a state that is not shared
		if err := c.begin(); err != nil {
			return m, err
		}
	}
	if err := store.Reset(d.State); err != nil {
		return m, err
	}
	return next, writeMark(c.Path, next)
}

// withRepos returns the records with other paths of the repositories of sessions that each machine
// reaches: these are where the machine has the project.
func withRepos(records []session.Record, path func(string) string) []session.Record {
	records = slices.Clone(records)
	for i, r := range records {
		for _, repo := range []*string{&records[i].Tree.Repo, &records[i].Spec.Workspace.Repo} {
			if r.Spec.Runtime.Traits().Everywhere && *repo != "" && !session.Remote(*repo) {
				*repo = path(*repo)
			}
		}
	}
	return records
}

// placed returns the path of a repository on this machine, from that in the backend. One that
// would be above the root directory stays relative, so that it is sent as it was read.
func (c *Copy) placed(repo string) string {
	if here := filepath.Join(c.Owner.Project, repo); !filepath.IsAbs(repo) && portable(c.Owner.Project, here) == repo {
		return here
	}
	return repo
}

// portable returns the path of a repository as the backend has it: relative to the project.
func portable(project, repo string) string {
	if rel, err := filepath.Rel(project, repo); err == nil {
		return rel
	}
	return repo
}

// begin records the backend, from which nothing was read yet.
func (c *Copy) begin() error {
	return writeMark(c.Path, c.newMark("", 0, nil))
}

// merge returns the records of others as they were read, and those of this machine as they
// are here. Of a session that each machine changes, the record that was written last counts;
// one that was not read was removed by another machine, since a new one is sent before it is
// started.
func (c *Copy) merge(read, here []session.Record) []session.Record {
	var merged []session.Record
	taken := map[session.Address]bool{}
	for _, r := range read {
		if r.Spec.Runtime.Traits().Everywhere {
			i := slices.IndexFunc(here, func(h session.Record) bool { return h.ID == r.ID && h.UpdatedAt.After(r.UpdatedAt) })
			if i >= 0 {
				r = here[i]
			}
			merged, taken[r.Address] = append(merged, r), true
		} else if !Mine(r, c.Owner) {
			merged, taken[r.Address] = append(merged, r), true
		}
	}
	for _, r := range here {
		switch {
		case r.Spec.Runtime.Traits().Everywhere:
		case !Mine(r, c.Owner):
		case taken[r.Address]:
			c.Log.Warn("another machine has this session meanwhile: agentform doctor lists what still runs of it here", "session", r.Address)
		default:
			merged = append(merged, r)
		}
	}
	return merged
}

// Opening has the options for opening a shared state.
type Opening struct {
	Who  state.Holder
	Wait time.Duration // for the locks
	// Waiting is called with the holder of the backend's lock, before each new try. It may be
	// nil.
	Waiting func(backend.Info)
	// Anew writes the local state if the backend has lost its state, or returned to an older one.
	Anew bool
	// Restarts returns what counts for the restarts of a session of this machine. It may be
	// nil: as it was read.
	Restarts func(session.Record) []health.Moment
}

// Open locks the shared state and the copy, updates the copy, and opens it. Writes to it are sent,
// and closing it unlocks the shared state. The error is a *LockedError or a *state.LockedError if a
// lock is held.
func (c *Copy) Open(ctx context.Context, o Opening) (*state.Store, error) {
	if _, err := c.check(ctx); err != nil {
		return nil, err
	}
	hold, err := c.acquire(ctx, o)
	if err != nil {
		return nil, err
	}
	store, err := c.opened(ctx, hold, o)
	if err != nil {
		return nil, errors.Join(err, release(hold))
	}
	return store, nil
}

func (c *Copy) opened(ctx context.Context, hold *backend.Hold, o Opening) (*state.Store, error) {
	store, err := c.open(ctx, o.Who, o.Wait)
	if err != nil {
		return nil, err
	}
	text, v, m, err := c.read(ctx)
	if _, gone := errors.AsType[*GoneError](err); o.Anew && gone {
		m, err = c.newMark("", 0, nil), nil
	}
	switch have := store.State(); {
	case err != nil:
	case v == "":
		err = writeMark(c.Path, m) // before the first write, which may not be sent
	case v != m.Version:
		taken, failed := c.take(store, text, v, m)
		if older := (*olderError)(nil); o.Anew && errors.As(failed, &older) {
			m.Version, failed = v, nil // what is written next replaces it
		} else {
			m = taken
		}
		err = failed
	case have.Serial < m.Serial: // it was rebuilt, and would not be sent
		have.Serial = m.Serial + 1
		err = store.Reset(have)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	store.Follow(&sender{copy: c, hold: hold, restarts: o.Restarts, store: store, mark: m, noted: true, prompts: map[string]string{}})
	return store, nil
}

// acquire takes the backend's lock.
func (c *Copy) acquire(ctx context.Context, o Opening) (*backend.Hold, error) {
	hold, err := backend.Acquire(ctx, c.Backend, c.info(o.Who), o.Wait, o.Waiting)
	if held, is := errors.AsType[*backend.HeldError](err); is {
		err = &LockedError{c.Name, held.Holder}
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
		return nil, err
	}
	if err != nil {
		return nil, &UnreachableError{c.Name, err}
	}
	return hold, nil
}

func (c *Copy) info(who state.Holder) backend.Info {
	return backend.Info{
		ID: uuid.NewString(), Operation: who.Command, Who: who.User + "@" + who.Host,
		Version: c.Version, Created: time.Now().UTC().Truncate(time.Second), Path: c.Name, Process: backend.ProcessOf(os.Getpid(), c.Owner),
	}
}

// releaseTimeout bounds how long a command that is over waits to unlock.
const releaseTimeout = 10 * time.Second

func release(h *backend.Hold) error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	return h.Release(ctx)
}

// Connect notes the backend and brings the copy up to date.
func (c *Copy) Connect(ctx context.Context) error {
	m, err := ReadMark(c.Path)
	if err != nil {
		return err
	}
	m.Backend, m.Place = c.Name, c.Place
	if err := writeMark(c.Path, m); err != nil {
		return err
	}
	return c.Pull(ctx)
}

// Holder returns the holder of the backend's lock. The error is backend.ErrNone if it is free.
func (c *Copy) Holder(ctx context.Context) (backend.Info, error) {
	i, err := c.Backend.Holder(ctx)
	if err != nil && !errors.Is(err, backend.ErrNone) {
		return i, &UnreachableError{c.Name, err}
	}
	return i, err
}

// Rewrite writes the shared state again unchanged, encrypted as now declared.
func (c *Copy) Rewrite(ctx context.Context, o Opening) (err error) {
	hold, err := c.acquire(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release(hold)) }()
	store, err := c.open(ctx, o.Who, o.Wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	text, v, m, err := c.read(ctx)
	switch {
	case err != nil:
		return err
	case v == "":
		return fmt.Errorf("there is no state in %s yet: nothing to do", c.Name)
	case v != m.Version:
		if m, err = c.take(store, text, v, m); err != nil {
			return err
		}
	}
	if m.Version, err = hold.Write(ctx, text, v); err != nil {
		return fmt.Errorf("write the state in %s: %w", c.Name, err)
	}
	return writeMark(c.Path, m)
}
