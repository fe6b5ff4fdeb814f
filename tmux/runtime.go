package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/session"
)

// Config describes where a project's sessions are.
type Config struct {
	SocketDir string   // of socketdir.Create: tmux-0, tmux-1, … and the shims' sockets
	DataDir   string   // its runs/RUN has the record of each run
	Lineage   string   // Mark.Project of the project's sessions; empty: all with a mark
	Shim      []string // the command to put before a run's directory, of install.Install
	Bin       string   // tmux program; empty: tmux on PATH
	// Scope is the command to put before tmux when that starts a server, which then runs outside
	// the caller's control group: systemd-run --user --scope --. It gets the variables that lead to
	// systemd; tmux does not. Empty: none.
	Scope []string
	// Server is a tmux server of the user's own, by its name (as for tmux -L) or the absolute path
	// of its socket: sessions run only there, next to the user's. The server must be running:
	// agentform neither starts nor ends it, and sets options only for its own sessions. Empty:
	// servers of the project's own.
	Server string
}

// Runtime runs sessions in tmux. It is a session.Runtime; its methods may be called concurrently.
type Runtime struct {
	config   Config
	servers  *servers
	runs     *runs
	observer *observer
	typing   input.Turns
}

var _ session.Runtime = (*Runtime)(nil)

// New returns a runtime. It has no effect before its first use.
func New(c Config) *Runtime {
	r := &runs{dataDir: c.DataDir, socketDir: c.SocketDir}
	return &Runtime{
		config:   c,
		servers:  &servers{dir: c.SocketDir, personal: c.Server, program: program{bin: c.Bin}, scope: c.Scope, known: map[string]*server{}},
		runs:     r,
		observer: &observer{runs: r, lineage: c.Lineage},
	}
}

// Traits returns the traits of tmux sessions.
func (r *Runtime) Traits() session.Traits { return session.TraitsOf("tmux") }

// Close waits until servers without sessions have exited. Other sessions stay, and the
// Runtime can be used again.
func (r *Runtime) Close() { r.servers.close() }

// LaunchSpec returns the spec with which a run was launched, or nil if the run's directory no
// longer has it.
func (r *Runtime) LaunchSpec(run string) (*session.Spec, error) { return r.runs.spec(run) }

// annotate adds to an error what was attempted on which session.
func annotate(err *error, doing, name string) {
	if *err != nil {
		*err = fmt.Errorf("%s session %q: %w", doing, name, *err)
	}
}

// Attach returns the command that attaches a terminal to the session. Inside another
// tmux it needs TMUX unset; see Inside.
func (r *Runtime) Attach(p session.Location) []string {
	return Server{Socket: p.Socket, Bin: r.config.Bin}.Attach(p.Name)
}

// Inside reports whether the environment is that of a process inside tmux, which then
// refuses to attach until TMUX is unset.
func Inside(environ []string) bool {
	return slices.ContainsFunc(environ, func(e string) bool {
		return strings.HasPrefix(e, "TMUX=") && e != "TMUX="
	})
}

// Observe lists the sessions of all the project's servers, ordered by socket and name. On the
// servers of adopted sessions it lists only the project's. Without a socket, tmux need not be
// installed.
func (r *Runtime) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	sockets, err := r.servers.sockets()
	if err != nil {
		return nil, err
	}
	if r.config.Server == "" {
		sockets = append(sockets, r.servers.linked()...)
	}
	found := make([][]session.Live, len(sockets))
	errs := make([]error, len(sockets))
	var wg sync.WaitGroup
	for i, socket := range sockets {
		wg.Go(func() { found[i], errs[i] = r.observer.observe(ctx, r.servers.at(socket), screens) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("inspect sessions: %w", err)
	}
	return slices.Concat(found...), nil
}

// Screens returns the current screens of the sessions in some places, with one call for each
// server. It omits places that are gone.
func (r *Runtime) Screens(ctx context.Context, places []session.Location) (map[session.Location]string, error) {
	panes := map[string][]string{} // by socket
	for _, p := range places {
		if p.Pane != "" {
			panes[p.Socket] = append(panes[p.Socket], p.Pane)
		}
	}
	shown := map[string]map[string]string{}
	var failed error
	for socket, ids := range panes {
		var err error
		if shown[socket], err = r.servers.at(socket).screens(ctx, ids); err != nil && !errors.Is(err, session.ErrGone) {
			failed = errors.Join(failed, fmt.Errorf("read screens: %w", err))
		}
	}
	found := make(map[session.Location]string, len(places))
	for _, p := range places {
		if text, ok := shown[p.Socket][p.Pane]; ok {
			found[p] = text
		}
	}
	return found, failed
}

// Stop makes the run's shim end the agent and its descendants, which on Linux the shim reaps
// completely. If no shim answers, or it cannot reap them all, Stop ends every process with the
// run's mark. The recorded agent must be gone afterwards.
func (r *Runtime) Stop(ctx context.Context, p session.Location, run string, how session.Stop) (err error) {
	defer annotate(&err, "stop", p.Name)
	f, _ := r.runs.facts(run)
	s := r.servers.at(p.Socket)
	s.restoreSocket(ctx, f)
	if err := r.runs.stop(ctx, run, f, how); err != nil || f.Claimed || f.Adopted() {
		return err
	}
	return r.observer.awaitDeath(ctx, s, p, run)
}

// SetTimeout changes the timeout of a run, counted from its start; 0: no limit. A run that has
// already taken longer is ended at once.
func (r *Runtime) SetTimeout(ctx context.Context, p session.Location, run string, timeout time.Duration) (err error) {
	defer annotate(&err, "change the timeout of", p.Name)
	if _, err := r.observer.holding(ctx, r.servers.at(p.Socket), p, run); err != nil {
		return err
	}
	return r.runs.ask(ctx, run, func(c *shim.Client, ctx context.Context) error {
		return c.Set(ctx, shim.Settings{Timeout: &timeout})
	})
}

// Probe makes the run's shim run a command next to the agent. Failed is why it failed; empty: it
// exited with 0. The error is session.ErrUnprobeable if no shim answers.
func (r *Runtime) Probe(ctx context.Context, _ session.Location, run string, argv []string, timeout time.Duration) (failed string, err error) {
	err = r.runs.ask(ctx, run, func(c *shim.Client, ctx context.Context) error {
		p, err := c.Probe(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		failed = p.Failure(timeout)
		return err
	})
	return failed, unprobeable(err)
}

// Verify makes the run's shim run a command next to the agent, for as long as it takes. The error
// is session.ErrUnprobeable if no shim answers, or one refuses.
func (r *Runtime) Verify(ctx context.Context, _ session.Location, run string, argv []string, timeout time.Duration) (v session.Verification, err error) {
	err = r.runs.ask(ctx, run, func(c *shim.Client, ctx context.Context) error {
		p, err := c.Verify(ctx, shim.Probe{Argv: argv, Timeout: timeout})
		v = reported.Verification(p, timeout)
		return err
	})
	return v, unprobeable(err)
}

// Unread returns how many bytes of the session's input its agent has not read. The error
// is session.ErrUnprobeable if no shim answers.
func (r *Runtime) Unread(ctx context.Context, _ session.Location, run string) (n int, err error) {
	err = r.runs.ask(ctx, run, func(c *shim.Client, ctx context.Context) (err error) {
		n, err = c.Unread(ctx)
		return err
	})
	return n, unprobeable(err)
}

// unprobeable marks an error that means that no shim answers.
func unprobeable(err error) error {
	if _, refused := errors.AsType[*shim.Error](err); refused || errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", session.ErrUnprobeable, err)
	}
	return err
}
