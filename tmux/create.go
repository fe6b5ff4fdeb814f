package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// startTimeout is how long a guest may take to start its agent. It takes
// milliseconds; a machine that starts 200 at once may be slow.
const startTimeout = 30 * time.Second

// cleanupTimeout bounds what is undone after a failure, whatever became of the
// caller's context.
const cleanupTimeout = 15 * time.Second

// nameForm are the names that tmux keeps as they are and finds again exactly.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Create makes the session, its mark and its guest in one command, so that there
// is no moment at which an unmarked session of ours could be seen, and returns
// when the agent has been started.
func (r *Runtime) Create(ctx context.Context, l session.Launch) (session.Place, error) {
	fail := func(err error) (session.Place, error) {
		return session.Place{}, fmt.Errorf("start session %q: %w", l.Name, err)
	}
	if !nameForm.MatchString(l.Name) {
		return fail(errors.New("the name has characters that tmux changes"))
	}
	if !r.claimName(l.Name) {
		return fail(session.ErrExists)
	}
	defer r.freeName(l.Name)
	if err := r.prepare(l); err != nil {
		return fail(err)
	}
	s, pane, err := r.place(ctx, l)
	if s == nil { // nothing was made
		return fail(errors.Join(err, shim.Discard(l.RunDir)))
	}
	p := session.Place{Runtime: "tmux", Socket: s.socket, Name: l.Name, Pane: pane}
	if err == nil {
		err = r.started(ctx, s, p, l)
	}
	if err != nil {
		return fail(errors.Join(err, r.undo(ctx, s, p, l)))
	}
	return p, nil
}

// place makes the session on a server with room and returns its pane. Without a
// server in return nothing was made; with one and an error nobody can know.
func (r *Runtime) place(ctx context.Context, l session.Launch) (on *server, pane string, err error) {
	mark, err := marking(l, l.Name)
	if err != nil {
		return nil, "", err
	}
	err = again(ctx, func() *server { return on }, func() error {
		var err error
		if on, err = r.room(ctx, l.Name); err != nil {
			return err
		}
		begin, more := on.begin, []tmuxwire.Command{mark}
		if on.borrowed { // it runs, and its settings are a person's
			begin, more = on.ask, append(more, remain(l.Name))
		}
		printed, err := begin(ctx, append([]tmuxwire.Command{
			tmuxwire.NewSession(l.Name, tmuxwire.WindowName(l.Mark.Address.Short()), l.Dir, r.guestCommand(l)...),
			{"set-option", "-F", "-t", tmuxwire.Session(l.Name), tmuxwire.PaneOption, "#{pane_id}"},
		}, more...)...)
		if err == nil {
			pane = printed
			on.made(l.Name)
			return nil
		}
		if errors.Is(err, session.ErrExists) {
			on.release()
			on = nil
			return err
		}
		if f, _ := shim.Glance(l.RunDir); f.Claimed {
			// A server that left after that took the run with it: it cannot be
			// started again.
			return &Error{Command: "new-session", Output: err.Error(), Err: session.ErrGone}
		}
		return err
	})
	return on, pane, err
}

// Restart puts a new guest into the session's pane. What the last run showed, its
// title too, is taken off it: whoever wants to keep that captures it first. Our
// pane may have been closed while a person's stands: then the session gets a new
// window.
func (r *Runtime) Restart(ctx context.Context, p session.Place, l session.Launch) (session.Place, error) {
	fail := func(err error) (session.Place, error) {
		return session.Place{}, fmt.Errorf("restart session %q: %w", p.Name, err)
	}
	s := r.server(p.Socket)
	now, live, err := r.owned(ctx, s, p)
	if err != nil {
		return fail(err)
	}
	if live.Vital != session.Dead {
		return fail(fmt.Errorf("the agent in it is %s", live.Vital))
	}
	if err := r.prepare(l); err != nil {
		return fail(err)
	}
	mark, err := marking(l, p.Name)
	if err != nil {
		return fail(errors.Join(err, shim.Discard(l.RunDir)))
	}
	start := tmuxwire.Command{"respawn-pane", "-k", "-t", live.Place.Pane}
	if now.closed {
		start = tmuxwire.Command{"new-window", "-d", "-P", "-F", "#{pane_id}", "-n", tmuxwire.WindowName(l.Mark.Address.Short()), "-t", tmuxwire.Session(p.Name)}
	}
	start = append(append(start, "-c", tmuxwire.Literal(l.Dir), "--"), r.guestCommand(l)...)
	// A run begins unpaused, whatever the last one was.
	cmds := []tmuxwire.Command{start, mark, {"set-option", "-u", "-t", tmuxwire.Session(p.Name), tmuxwire.PauseOption}}
	if s.borrowed {
		cmds = append(cmds, remain(p.Name))
	}
	if !now.closed {
		// The title first: it stays over a respawn, and the new agent may set its own
		// at once. An agent that was killed at work would still say that it works.
		cmds = append([]tmuxwire.Command{{"select-pane", "-t", live.Place.Pane, "-T", ""}}, cmds...)
		cmds = append(cmds, tmuxwire.Command{"clear-history", "-t", live.Place.Pane}, tmuxwire.EnableInput(live.Place.Pane))
	}
	printed, err := s.ask(ctx, cmds...)
	p.Runtime, p.Pane = "tmux", live.Place.Pane
	if err == nil && now.closed {
		p.Pane = printed
		_, err = s.ask(ctx, tmuxwire.Command{"set-option", "-t", tmuxwire.Session(p.Name), tmuxwire.PaneOption, p.Pane})
	}
	if err == nil {
		err = r.started(ctx, s, p, l)
	}
	if err != nil {
		// The place was there before and stays; the run must not.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		return fail(errors.Join(err, r.drop(cleanup, l)))
	}
	return p, nil
}

// prepare writes the run's folder.
func (r *Runtime) prepare(l session.Launch) error {
	if !runForm.MatchString(l.Mark.Run) {
		return fmt.Errorf("invalid run id %.80q", l.Mark.Run)
	}
	spec, err := json.Marshal(l.Spec)
	if err != nil {
		return err
	}
	return shim.Prepare(l.RunDir, shim.Config{
		Run:     l.Mark.Run,
		Address: string(l.Mark.Address),
		Dir:     l.Dir,
		Socket:  r.guestSocket(l.Mark.Run),
		Argv:    l.Argv,
		Env:     l.Env,
		Signal:  l.Stop.Signal,
		Grace:   l.Stop.Grace.D(),
		Timeout: l.Timeout,
		Spec:    spec,
		InheritedSecrets: slices.DeleteFunc(slices.Sorted(maps.Keys(l.Secrets)), func(name string) bool {
			return slices.Contains(l.Spec.Secrets, name)
		}),
	}, l.Secrets)
}

func (r *Runtime) guestCommand(l session.Launch) []string {
	return append(slices.Clone(r.config.Guest), l.RunDir)
}

// marking is the command that marks the session of that name.
func marking(l session.Launch, name string) (tmuxwire.Command, error) {
	mark, err := json.Marshal(l.Mark)
	if err != nil {
		return nil, err
	}
	return tmuxwire.Command{"set-option", "-t", tmuxwire.Session(name), tmuxwire.MarkOption, string(mark)}, nil
}

// remain lets the pane of a session stay when its process has gone, on a server
// whose settings are a person's.
func remain(name string) tmuxwire.Command {
	return tmuxwire.Command{"set-option", "-w", "-t", tmuxwire.Session(name), "remain-on-exit", "on"}
}

// started returns when the guest has started the agent, or why it did not.
func (r *Runtime) started(ctx context.Context, s *server, p session.Place, l session.Launch) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	begun := time.Now()
	for wait := time.Millisecond; ; wait = min(2*wait, 10*time.Millisecond) {
		f, err := shim.Glance(l.RunDir)
		switch {
		case f.Exit != nil && f.Exit.Cause == shim.CauseFailedStart:
			return errors.New(exitOf(f.Exit).String())
		case f.Agent.PID != 0 || f.Exit != nil:
			return nil // that it may have left since is for the next look
		}
		if sleep(ctx, wait) != nil {
			return errors.Join(fmt.Errorf("the guest did not start the agent: %w", ctx.Err()), err)
		}
		if time.Since(begun) > 100*time.Millisecond {
			if err := r.stillborn(ctx, s, p); err != nil {
				// It may have been quicker than the look.
				if f, _ := shim.Glance(l.RunDir); f.Agent.PID == 0 && f.Exit == nil {
					return err
				}
			}
		}
	}
}

// stillborn is why a pane died before its guest could write anything down: it
// could not be started.
func (r *Runtime) stillborn(ctx context.Context, s *server, p session.Place) error {
	now, err := s.look(ctx, p.Name)
	if err != nil {
		return err
	}
	if !now.Dead && !now.closed {
		return nil
	}
	screen, err := r.Capture(ctx, p, 20)
	if err != nil {
		return err
	}
	return fmt.Errorf("the guest %q ended at once: %s", r.config.Guest, screen)
}

// undo takes back a session whose creation failed: it, its guest and whatever
// that started.
func (r *Runtime) undo(ctx context.Context, s *server, p session.Place, l session.Launch) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_, err := s.ask(ctx, tmuxwire.Command{"kill-session", "-t", tmuxwire.Session(p.Name)})
	if errors.Is(err, session.ErrGone) {
		err = nil
	}
	s.release()
	s.gone(p.Name)
	return errors.Join(err, r.drop(ctx, l))
}

// drop ends a run that failed to start. Its guest is asked by its socket, so that goes
// last.
func (r *Runtime) drop(ctx context.Context, l session.Launch) error {
	err := r.end(ctx, l.Mark.Run, session.Stop{Signal: "SIGKILL"})
	return errors.Join(err, shim.Discard(l.RunDir))
}

func (r *Runtime) claimName(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.making[name] {
		return false
	}
	r.making[name] = true
	return true
}

func (r *Runtime) freeName(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.making, name)
}
