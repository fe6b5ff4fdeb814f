package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// IDForm is the format of ids for Find and Adopt.
const IDForm = "docker:CONTAINER (a name or an id)"

// Find looks up the container that an id names. The container must run tmux with one session of one
// pane, on its user's server.
func (r *Runtime) Find(ctx context.Context, id string) session.Found {
	fail := func(err error) session.Found { return session.Found{Err: err} }
	name, ok := strings.CutPrefix(id, "docker:")
	if !ok || name == "" {
		return fail(fmt.Errorf("invalid id %.100q: expected %s", id, IDForm))
	}
	if r.config.elsewhere() {
		return fail(fmt.Errorf("a container of the engine %s, which is on another machine, cannot be adopted", r.config.Host))
	}
	c, err := r.engine()
	if err != nil {
		return fail(err)
	}
	i, err := inspect(ctx, c, name)
	switch {
	case errors.Is(err, session.ErrGone):
		return fail(fmt.Errorf("no container %q", name))
	case err != nil:
		return fail(err)
	case !i.State.Running:
		return fail(fmt.Errorf("container %s is not running (docker start %s)", name, name))
	case i.State.Paused:
		return fail(fmt.Errorf("container %s is paused (docker unpause %s)", name, name))
	}
	mark := markOf(i.Config.Labels)
	if _, adopted := r.files.adopted(i.ID); adopted || !r.config.foreign(mark, strings.TrimPrefix(i.Name, "/"), i.Config.Labels, i.Mounts) {
		lives, err := r.Observe(ctx, false)
		if at := slices.IndexFunc(lives, func(l session.Live) bool { return l.Location.Container == i.ID }); at >= 0 {
			return session.Found{Live: &lives[at]}
		}
		return fail(errors.Join(err, session.ErrGone))
	}
	if mark.ID != "" {
		return fail(fmt.Errorf("it is %s of another agentform project, which manages it", mark.Address))
	}
	p, err := onlyPane(ctx, byExec{exec: r.exec, container: i.ID}, name)
	if err != nil {
		return fail(err)
	}
	l := session.Live{Foreign: true, PlaceUp: true, Liveness: session.Alive, BootID: proc.BootID(), Agent: session.Process{PID: p.PID},
		Started: p.Created, Dir: onHost(i.Mounts, p.Cwd), Command: p.Argv,
		Location: session.Location{Runtime: "docker", Name: strings.TrimPrefix(i.Name, "/"), Container: i.ID, Pane: p.ID}}
	if contained.ShowPane(&l, p.Pane, false); p.Dead {
		l.Liveness = session.Dead
	}
	return session.Found{Live: &l}
}

func onlyPane(ctx context.Context, x byExec, name string) (tmuxwire.Process, error) {
	nonce := strconv.FormatInt(time.Now().UnixNano(), 36)
	t, err := x.Tmux(ctx, "", "list-panes", "-a", "-F", nonce+"|"+tmuxwire.ProcessFormat)
	if err != nil {
		return tmuxwire.Process{}, err
	}
	if t.Code != 0 {
		return tmuxwire.Process{}, fmt.Errorf("container %s: its user's tmux has no session (%.200s): only sessions in tmux can be adopted", name, t.Stderr)
	}
	rows := tmuxwire.Rows(t.Stdout, nonce)
	if len(rows) != 1 {
		return tmuxwire.Process{}, fmt.Errorf("tmux in container %s has %d panes, and a session has one pane: give its agent its own container", name, len(rows))
	}
	p, err := tmuxwire.ParseProcess(rows[0])
	if err != nil {
		return p, fmt.Errorf("container %s: %w", name, err)
	}
	return p, nil
}

// onHost returns a container's directory as this machine has it mounted, or the path itself if it
// is not mounted.
func onHost(mounts []container.MountPoint, dir string) string {
	best, found := "", dir
	for _, m := range mounts {
		if rest, ok := strings.CutPrefix(dir, m.Destination); ok && (rest == "" || rest[0] == '/') && len(m.Destination) > len(best) {
			best, found = m.Destination, path.Join(m.Source, rest)
		}
	}
	return found
}

// Adopt records the session of the container under an id of Find as managed, in
// DATA_DIR/containers, and leaves it running. The session has no shim: the engine executes commands
// in the container to inspect it, a pause pauses the container, and a restart is not possible. The
// error is session.ErrExists if it is already managed.
func (r *Runtime) Adopt(ctx context.Context, id string, m session.Mark) (at session.Location, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("adopt %s: %w", id, err)
		}
	}()
	if !proc.ValidRun(m.Run) {
		return at, fmt.Errorf("invalid run id %.80q", m.Run)
	}
	found := r.Find(ctx, id)
	l := found.Live
	switch {
	case found.Err != nil:
		return at, found.Err
	case !l.Foreign:
		return at, fmt.Errorf("it is %s: it %w", l.Mark.Address, session.ErrExists)
	case l.Liveness != session.Alive:
		return at, fmt.Errorf("the session in it is %s", l.Liveness)
	}
	x := byExec{r.exec, l.Location.Container, l.Location.Pane}
	if t, err := x.Tmux(ctx, "", "set-option", "-p", "-t", l.Location.Pane, "remain-on-exit", "on"); err != nil || t.Code != 0 {
		return at, errors.Join(err, fmt.Errorf("keep its pane after it has exited: %.200s", t.Stderr))
	}
	f, runDir := r.files.session(m.ID), r.files.run(m.Run)
	c := rundir.Config{Run: m.Run, Address: string(m.Address), Dir: l.Dir, Socket: contained.ShimSocket(f.sockets), Argv: l.Command}
	err = rundir.Adopt(runDir, c, proc.Process{PID: l.Agent.PID}, l.Started)
	for _, dir := range []string{f.own, f.adoptions()} {
		if err == nil {
			err = os.MkdirAll(dir, 0o700)
		}
	}
	if err == nil {
		err = f.save(record{Mark: m, Container: l.Location.Container, Pane: l.Location.Pane})
	}
	if err == nil {
		err = os.Symlink(m.ID, filepath.Join(f.adoptions(), l.Location.Container))
	}
	if err != nil {
		return at, errors.Join(err, os.RemoveAll(runDir), os.RemoveAll(f.own))
	}
	return l.Location, nil
}
