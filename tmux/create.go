package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

const (
	// startTimeout bounds the start of an agent by its shim, which takes milliseconds.
	startTimeout = 30 * time.Second
	// cleanupTimeout bounds the cleanup after a failure.
	cleanupTimeout = 15 * time.Second
)

// nameForm matches the names that tmux neither changes nor matches loosely.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// Create creates the session, its mark and its shim in one command, so that a session of the
// project always has its mark. It returns when the agent has started.
func (r *Runtime) Create(ctx context.Context, l session.Launch) (p session.Location, err error) {
	defer annotate(&err, "start", l.Name)
	if !nameForm.MatchString(l.Name) {
		return p, errors.New("the name has characters that tmux changes")
	}
	if _, taken := r.servers.creating.LoadOrStore(l.Name, ""); taken {
		return p, session.ErrExists
	}
	defer r.servers.creating.Delete(l.Name)
	if err := r.runs.prepare(l); err != nil {
		return p, err
	}
	s, pane, err := r.create(ctx, l)
	if s == nil { // nothing was created
		return p, errors.Join(err, rundir.Discard(l.RunDir))
	}
	p = session.Location{Runtime: "tmux", Socket: s.socket, Name: l.Name, Pane: pane}
	if err == nil {
		err = r.awaitAgent(ctx, s, p, l)
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		_, killErr := s.ask(ctx, tmuxwire.Command{"kill-session", "-t", tmuxwire.Session(p.Name)})
		if errors.Is(killErr, session.ErrGone) {
			killErr = nil
		}
		r.servers.removed(s, p.Name)
		return session.Location{}, errors.Join(err, killErr, r.runs.discard(ctx, l))
	}
	return p, nil
}

// create creates the session on a server with room and returns its pane. Without a server, nothing
// was created; with a server and an error, the outcome is unknown.
func (r *Runtime) create(ctx context.Context, l session.Launch) (on *server, pane string, err error) {
	mark, err := setMark(l.Mark, l.Name)
	if err != nil {
		return nil, "", err
	}
	err = retry(ctx, func() *server { return on }, func() error {
		var err error
		if on == nil || on.external {
			if on, err = r.servers.reserve(ctx, l.Name); err != nil {
				return err
			}
		}
		begin, cmds := on.begin, []tmuxwire.Command{
			tmuxwire.NewSession(l.Name, tmuxwire.WindowName(l.Mark.Address.Short()), l.Dir, append(slices.Clone(r.config.Shim), l.RunDir)...),
			{"set-option", "-F", "-t", tmuxwire.Session(l.Name), tmuxwire.PaneOption, "#{pane_id}"},
			mark,
		}
		if on.external { // it is running, with the user's options
			begin, cmds = on.ask, append(cmds, keepPane(l.Name))
		}
		pane, err = begin(ctx, cmds...)
		if errors.Is(err, session.ErrExists) {
			on = nil
		}
		if err == nil || on == nil {
			return err
		}
		if f, _ := rundir.ReadLiveness(l.RunDir); f.Claimed {
			// The server exited after the run had started, and a run starts only once.
			return &Error{Command: "new-session", Output: err.Error(), Err: session.ErrGone}
		}
		return err
	})
	return on, pane, err
}

// Restart starts a shim in the session's pane and clears the output of the last run and its title.
// If the pane was closed while the session has another one, the session gets a new window.
func (r *Runtime) Restart(ctx context.Context, p session.Location, l session.Launch) (in session.Location, err error) {
	defer annotate(&err, "restart", p.Name)
	s := r.servers.at(p.Socket)
	now, live, err := r.observer.owned(ctx, s, p)
	if err != nil {
		return in, err
	}
	if live.Liveness != session.Dead {
		return in, fmt.Errorf("the agent in it is %s", live.Liveness)
	}
	if err := r.runs.prepare(l); err != nil {
		return in, err
	}
	mark, err := setMark(l.Mark, p.Name)
	if err != nil {
		return in, errors.Join(err, rundir.Discard(l.RunDir))
	}
	pane := live.Location.Pane
	start := tmuxwire.Command{"respawn-pane", "-k", "-t", pane}
	if now.closed {
		start = tmuxwire.Command{"new-window", "-d", "-P", "-F", "#{pane_id}", "-n", tmuxwire.WindowName(l.Mark.Address.Short()), "-t", tmuxwire.Session(p.Name)}
	}
	start = slices.Concat(start, []string{"-c", tmuxwire.Literal(l.Dir), "--"}, r.config.Shim, []string{l.RunDir})
	cmds := []tmuxwire.Command{start, mark, {"set-option", "-u", "-t", tmuxwire.Session(p.Name), tmuxwire.PauseOption}}
	if s.external {
		cmds = append(cmds, keepPane(p.Name))
	}
	if !now.closed {
		// Clear the title first, since the new agent may set its own at once. The title of an agent
		// killed during work would still show work.
		cmds = append([]tmuxwire.Command{{"select-pane", "-t", pane, "-T", ""}}, cmds...)
		cmds = append(cmds, tmuxwire.Command{"clear-history", "-t", pane}, tmuxwire.EnableInput(pane))
	}
	printed, err := s.ask(ctx, cmds...)
	p.Runtime, p.Pane = "tmux", pane
	if err == nil && now.closed {
		p.Pane = printed
		_, err = s.ask(ctx, tmuxwire.Command{"set-option", "-t", tmuxwire.Session(p.Name), tmuxwire.PaneOption, p.Pane})
	}
	if err == nil {
		err = r.awaitAgent(ctx, s, p, l)
	}
	if err != nil {
		// The session existed before and stays; the run must not.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		return in, errors.Join(err, r.runs.discard(cleanup, l))
	}
	return p, nil
}

func setMark(m session.Mark, name string) (tmuxwire.Command, error) {
	mark, err := json.Marshal(m)
	return tmuxwire.Command{"set-option", "-t", tmuxwire.Session(name), tmuxwire.MarkOption, string(mark)}, err
}

// keepPane returns the command that keeps a session's pane after its process has exited.
func keepPane(name string) tmuxwire.Command {
	return tmuxwire.Command{"set-option", "-w", "-t", tmuxwire.Session(name), "remain-on-exit", "on"}
}

func (r *Runtime) awaitAgent(ctx context.Context, s *server, p session.Location, l session.Launch) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	began := time.Now()
	err := poll(ctx, 10*time.Millisecond, func() (bool, error) {
		f, _ := rundir.ReadLiveness(l.RunDir)
		switch {
		case f.Exit != nil && f.Exit.Cause == rundir.CauseFailedStart:
			return false, errors.New(reported.Exit(f.Exit).String())
		case f.Agent.PID != 0 || f.Exit != nil:
			return true, nil
		case time.Since(began) < 100*time.Millisecond:
			return false, nil
		}
		now, err := s.look(ctx, p.Name)
		if err != nil || !now.Dead && !now.closed {
			return false, err
		}
		if f, _ := rundir.ReadLiveness(l.RunDir); f.Agent.PID != 0 || f.Exit != nil {
			return false, nil // written meanwhile
		}
		screen, err := r.Capture(ctx, p, 20)
		if err == nil {
			err = fmt.Errorf("the shim %q exited immediately: %s", r.config.Shim, screen)
		}
		return false, err
	})
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("the shim did not start the agent: %w", err)
	}
	return err
}

// removeGrace is the time that an agent has to exit before SIGKILL when its session is
// removed.
const removeGrace = 2 * time.Second

// Remove ends the remains of the run, kills the session, and checks that it is gone. It affects
// only sessions of the project.
func (r *Runtime) Remove(ctx context.Context, p session.Location) (err error) {
	defer annotate(&err, "remove", p.Name)
	s := r.servers.at(p.Socket)
	_, mark, err := r.observer.marked(ctx, s, p)
	if errors.Is(err, session.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	run := mark.Run
	valid := checkRun(run) == nil
	if valid {
		f, _ := r.runs.facts(run)
		if err := r.runs.stop(ctx, run, f, session.Stop{Signal: "SIGTERM", Grace: session.Duration(removeGrace)}); err != nil {
			return err
		}
	}
	// The second command must fail.
	_, err = s.ask(ctx, tmuxwire.Command{"kill-session", "-t", tmuxwire.Session(p.Name)}, tmuxwire.Command{"has-session", "-t", tmuxwire.Session(p.Name)})
	if err == nil {
		err = errors.New("it still exists")
	}
	if !errors.Is(err, session.ErrGone) {
		return err
	}
	r.servers.removed(s, p.Name)
	r.servers.unlink(ctx, r.observer, s)
	if valid {
		return r.runs.awaitShim(ctx, run, true)
	}
	return nil
}
