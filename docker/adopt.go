package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// IDForm is how the id of a container that can be adopted is written.
const IDForm = "docker:CONTAINER (a name or an id)"

// Find looks up the container that an id names, docker:CONTAINER: any that runs, and
// in which there is tmux with one session of one pane, on the server of the
// container's user. It changes nothing. Where nothing is there, Err says what there is
// instead; also when it is another project's.
func (r *Runtime) Find(ctx context.Context, id string) session.Found {
	l, err := r.find(ctx, id)
	if err != nil {
		return session.Found{Err: err}
	}
	return session.Found{Live: &l}
}

func (r *Runtime) find(ctx context.Context, id string) (session.Live, error) {
	name, ok := strings.CutPrefix(id, "docker:")
	if !ok || name == "" {
		return session.Live{}, fmt.Errorf("invalid id %.100q: want %s", id, IDForm)
	}
	i, err := r.anybodys(ctx, session.Place{Name: name})
	switch {
	case errors.Is(err, session.ErrGone):
		return session.Live{}, fmt.Errorf("there is no container %q", name)
	case err != nil:
		return session.Live{}, err
	case !i.State.Running:
		return session.Live{}, fmt.Errorf("container %s does not run (docker start %s)", name, name)
	case i.State.Paused:
		return session.Live{}, fmt.Errorf("container %s is paused (docker unpause %s)", name, name)
	}
	l := session.Live{Foreign: true, PlaceUp: true, Vital: session.Dead, BootID: shim.BootID(),
		Place: session.Place{Runtime: "docker", Name: strings.TrimPrefix(i.Name, "/"), Container: i.ID}}
	_, ours := r.adopted(i.ID)
	switch project := i.Config.Labels[labelProject]; {
	case ours || i.Config.Labels[labelID] != "" && (r.config.Lineage == "" || project == r.config.Lineage):
		return r.observed(ctx, i.ID)
	case i.Config.Labels[labelID] != "":
		return session.Live{}, fmt.Errorf("it is %s of another agentform project, whose record it is on", i.Config.Labels[labelAddress])
	}
	l.Started, _ = time.Parse(time.RFC3339Nano, i.State.StartedAt) // else it is not known
	return l, r.lookIn(ctx, i, &l)
}

// observed is a container of ours as Observe sees it.
func (r *Runtime) observed(ctx context.Context, container string) (session.Live, error) {
	lives, err := r.Observe(ctx, false)
	for _, l := range lives {
		if l.Place.Container == container {
			return l, nil
		}
	}
	return session.Live{}, errors.Join(err, session.ErrGone)
}

// lookIn adds what tmux in a container tells of the one pane that there has to be.
func (r *Runtime) lookIn(ctx context.Context, i container.InspectResponse, l *session.Live) error {
	x := byExec{runtime: r, container: i.ID}
	nonce := strconv.FormatInt(time.Now().UnixNano(), 36)
	t, err := x.Tmux(ctx, "", "list-panes", "-a", "-F", nonce+"|"+tmuxwire.ProcessFormat)
	if err != nil {
		return err
	}
	if t.Code != 0 {
		return fmt.Errorf("container %s: no tmux that its user could ask has a session there (%.200s): only what runs in tmux can be taken over", l.Place.Name, t.Stderr)
	}
	rows := tmuxwire.Rows(t.Stdout, nonce)
	if len(rows) != 1 {
		return fmt.Errorf("tmux in container %s has %d panes, and a session of agentform is one: give its agent a container of its own", l.Place.Name, len(rows))
	}
	p, err := tmuxwire.ParseProcess(rows[0])
	if err != nil {
		return fmt.Errorf("container %s: %w", l.Place.Name, err)
	}
	show(l, p.Pane, false)
	l.Place.Pane, l.Agent.PID = p.ID, p.PID
	l.Started, l.Dir, l.Command = p.Created, outside(i.Mounts, p.Cwd), p.Argv
	if !p.Dead {
		l.Vital = session.Alive
	}
	return nil
}

// outside is where a folder of a container is on this machine; as it is, if it is
// nowhere.
func outside(mounts []container.MountPoint, dir string) string {
	best, found := "", dir
	for _, m := range mounts {
		if rest, ok := strings.CutPrefix(dir, m.Destination); ok && (rest == "" || rest[0] == '/') && len(m.Destination) > len(best) {
			best, found = m.Destination, path.Join(m.Source, rest)
		}
	}
	return found
}

// Adopt takes over the session in the container under an id of Find, as it runs:
// nothing in it is disturbed. Whose it is stands in DATA_DIR/containers, since a
// container that stands gets no labels. It has no guest: it is looked at by what the
// engine executes in it, a few at a time, made to stand still by pausing the
// container, and nothing new can be started in it. session.ErrExists if it is ours
// already.
func (r *Runtime) Adopt(ctx context.Context, id string, m session.Mark) (session.Place, error) {
	p, err := r.adopt(ctx, id, m)
	if err != nil {
		return session.Place{}, fmt.Errorf("adopt %s: %w", id, err)
	}
	return p, nil
}

func (r *Runtime) adopt(ctx context.Context, id string, m session.Mark) (p session.Place, err error) {
	if !runForm.MatchString(m.Run) {
		return p, fmt.Errorf("invalid run id %.80q", m.Run)
	}
	l, err := r.find(ctx, id)
	switch {
	case err != nil:
		return p, err
	case !l.Foreign:
		return p, fmt.Errorf("it is %s: it %w", l.Mark.Address, session.ErrExists)
	case l.Vital != session.Alive:
		return p, fmt.Errorf("the session in it is %s", l.Vital)
	}
	x := byExec{r, l.Place.Container, l.Place.Pane}
	if t, err := x.Tmux(ctx, "", "set-option", "-p", "-t", l.Place.Pane, "remain-on-exit", "on"); err != nil || t.Code != 0 {
		return p, errors.Join(err, fmt.Errorf("let its pane stay when it has ended: %.200s", t.Stderr))
	}
	f, dir := r.shared(m.ID), r.runDir(m.Run)
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir), os.RemoveAll(f.own))
		}
	}()
	c := shim.Config{Run: m.Run, Address: string(m.Address), Dir: l.Dir, Socket: f.guestSocket(), Argv: l.Command}
	if err := shim.Adopt(dir, c, shim.Proc{PID: l.Agent.PID}, l.Started); err != nil {
		return p, err
	}
	for _, folder := range []string{f.own, r.adoptions()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return p, err
		}
	}
	if err := f.keep(kept{Mark: m, Container: l.Place.Container, Pane: l.Place.Pane}); err != nil {
		return p, err
	}
	return l.Place, os.Symlink(m.ID, filepath.Join(r.adoptions(), l.Place.Container))
}
