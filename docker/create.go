package docker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/agentform/agentform/internal/guest"
	"github.com/agentform/agentform/session"
)

// startTimeout is how long a container's first process and the guest in it may take
// to start: containers take a quarter of a second, many at once on a small machine
// much longer.
const startTimeout = time.Minute

// cleanupTimeout bounds what is undone after a failure.
const cleanupTimeout = 30 * time.Second

var runForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// Create makes the container and starts the run in it.
func (r *Runtime) Create(ctx context.Context, l session.Launch) (session.Place, error) {
	p, err := r.create(ctx, l)
	if err != nil {
		return session.Place{}, fmt.Errorf("start session %q: %w", l.Name, err)
	}
	return p, nil
}

func (r *Runtime) create(ctx context.Context, l session.Launch) (session.Place, error) {
	c, err := r.engine()
	if err != nil {
		return session.Place{}, err
	}
	f := r.shared(l.Mark.ID)
	of, err := ownerOf(l.Spec.Runtime.Docker)
	if err != nil {
		return session.Place{}, err
	}
	_, stood := os.Lstat(f.sockets)
	if err := f.make(of); err != nil {
		return session.Place{}, err
	}
	if err := r.usable(of); err != nil {
		return session.Place{}, err
	}
	config, host := r.settings(l.Spec, l.Dir, of)
	config.Entrypoint = append(slices.Clone(r.config.Guest), guest.KeepMode, f.sockets)
	maps.Copy(config.Labels, map[string]string{labelAddress: string(l.Mark.Address), labelID: l.Mark.ID,
		labelRun: l.Mark.Run, labelHash: l.Mark.Hash})
	host.Mounts = append(host.Mounts, bind(f.runs, filepath.Join(r.config.DataDir, "runs"), false), bind(f.sockets, f.sockets, false))
	made, err := c.ContainerCreate(ctx, config, host, nil, nil, l.Name)
	if errdefs.IsConflict(err) {
		return session.Place{}, fmt.Errorf("container %s %w", l.Name, session.ErrExists)
	}
	if err != nil {
		if stood != nil { // of one that stands they are in use
			err = errors.Join(err, f.discard())
		}
		return session.Place{}, explain(err)
	}
	p := session.Place{Runtime: "docker", Socket: guest.KeptSocket, Name: l.Name, Container: made.ID}
	if err = explain(c.ContainerStart(ctx, made.ID, container.StartOptions{})); err == nil {
		err = r.begin(ctx, p, l, of)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		return session.Place{}, errors.Join(err, r.Remove(undo, p))
	}
	return p, nil
}

// settings are those of a container for a session, whatever runs in it.
func (r *Runtime) settings(s session.Spec, dir string, of owner) (*container.Config, *container.HostConfig) {
	d := s.Runtime.Docker
	if d == nil {
		d = &session.DockerConfig{}
	}
	config := &container.Config{
		Image: d.Image, User: of.String(), WorkingDir: dir,
		Labels: map[string]string{labelProject: r.config.Lineage},
	}
	host := &container.HostConfig{
		NetworkMode:    container.NetworkMode(d.Network),
		ReadonlyRootfs: d.ReadOnly,
		SecurityOpt:    []string{"no-new-privileges"},
		CapDrop:        []string{"ALL"},
		CapAdd:         capabilities(),
		Tmpfs:          map[string]string{"/tmp": "exec,mode=1777"},
		Mounts:         []mount.Mount{bind(dir, dir, false), bind(r.config.Guest[0], r.config.Guest[0], true)},
	}
	host.NanoCPUs = int64(d.CPUs * 1e9)
	host.Memory = d.Memory
	if d.PIDs > 0 {
		host.PidsLimit = &d.PIDs
	}
	if w := s.Workspace; w.TrustGit && w.Mode == session.Worktree {
		host.Mounts = append(host.Mounts, bind(commonDir(w.Repo), commonDir(w.Repo), false))
	}
	for _, m := range d.Mounts {
		host.Mounts = append(host.Mounts, bind(m.Source, m.Target, m.ReadOnly))
	}
	return config, host
}

// capabilities are what root in a container keeps: it gives files away, reads them,
// becomes another user, as package managers do, and opens low ports. Anybody else
// has none.
func capabilities() []string {
	return []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "NET_BIND_SERVICE"}
}

// usable lets another user run the guest's program, whose folder here is closed to
// everybody else.
func (r *Runtime) usable(of owner) error {
	if of.uid == os.Geteuid() {
		return nil
	}
	info, err := os.Stat(r.config.Guest[0])
	if err != nil || info.Mode().Perm()&0o005 == 0o005 {
		return err
	}
	return os.Chmod(r.config.Guest[0], info.Mode().Perm()|0o055)
}

func bind(source, target string, readOnly bool) mount.Mount {
	return mount.Mount{Type: mount.TypeBind, Source: source, Target: target, ReadOnly: readOnly}
}

// begin starts a run in a container that runs.
func (r *Runtime) begin(ctx context.Context, p session.Place, l session.Launch, of owner) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	f, k := r.shared(l.Mark.ID), r.keeper(l.Mark.ID)
	if err := r.up(ctx, p, k); err != nil {
		return err
	}
	if err := r.prepare(f, l, of); err != nil {
		return err
	}
	if err := f.keep(kept{Mark: l.Mark}); err != nil {
		return err
	}
	_, _ = k.Tmux(ctx, "", "kill-session", "-t", exactly(p.Name)) // of a run before, if it stands
	start := append([]string{"new-session", "-d", "-s", p.Name, "-n", window(l.Mark.Address), "-x", "200", "-y", "50", "-c", l.Dir, "--"},
		append(slices.Clone(r.config.Guest), l.RunDir)...)
	// A server that was left without a session stays, so that none is met that leaves.
	args := []string{"start-server", ";", "set-option", "-s", "exit-empty", "off", ";",
		"set-option", "-g", "history-limit", "50000", ";", "set-option", "-g", "remain-on-exit", "on", ";",
		"set-option", "-s", "escape-time", "20", ";"}
	for {
		t, err := k.Tmux(ctx, "", append(args, start...)...)
		if err != nil {
			return err
		}
		if t.Code == 0 {
			return r.started(ctx, l)
		}
		err = fmt.Errorf("tmux in the container: %s", strings.TrimSpace(t.Stderr))
		if f, _ := guest.ReadFacts(l.RunDir); f.Claimed || !strings.Contains(t.Stderr, "server exited") || sleep(ctx, 50*time.Millisecond) != nil {
			return err
		}
	}
}

// up returns when the container's first process answers.
func (r *Runtime) up(ctx context.Context, p session.Place, k guest.Keeper) error {
	for {
		err := k.Hello(ctx)
		if err == nil {
			return nil
		}
		i, gone := r.inspect(ctx, p)
		switch {
		case gone != nil:
			return gone
		case !i.State.Running:
			return fmt.Errorf("its container ended at once: %s%s", because(i.State), r.printed(ctx, p))
		}
		if sleep(ctx, 10*time.Millisecond) != nil {
			return err
		}
	}
}

// prepare writes the run's folder and brings it into the container.
func (r *Runtime) prepare(f folders, l session.Launch, of owner) error {
	if !runForm.MatchString(l.Mark.Run) {
		return fmt.Errorf("invalid run id %.80q", l.Mark.Run)
	}
	spec, err := json.Marshal(l.Spec)
	if err != nil {
		return err
	}
	err = guest.Prepare(l.RunDir, guest.Config{
		Run: l.Mark.Run, Address: string(l.Mark.Address), Dir: l.Dir, Socket: f.guestSocket(),
		Argv: l.Argv, Env: l.Env, Inherit: true,
		Signal: l.Stop.Signal, Grace: l.Stop.Grace.D(), Timeout: l.Timeout, Spec: spec,
	}, l.Secrets)
	if err != nil {
		return err
	}
	if len(l.Secrets) > 0 {
		if err := of.takeFile(f.secrets(l.Mark.Run)); err != nil {
			return err
		}
	}
	return f.bring(l, of)
}

// started returns when the guest has started the agent, or why it did not.
func (r *Runtime) started(ctx context.Context, l session.Launch) error {
	for {
		f, err := guest.ReadFacts(l.RunDir)
		switch {
		case f.Exit != nil && f.Exit.Cause == guest.CauseFailedStart:
			return errors.New(exitOf(f.Exit).String())
		case f.Agent.PID != 0 || f.Exit != nil:
			return nil
		}
		if sleep(ctx, 5*time.Millisecond) != nil {
			return errors.Join(fmt.Errorf("the guest did not start the agent: %w", ctx.Err()), err)
		}
	}
}

// window is what the status line of whoever attaches calls the session.
func window(a session.Address) string {
	return strings.Map(func(c rune) rune {
		if c == '#' || c == ';' || c < ' ' || c == 0x7f {
			return '_'
		}
		return c
	}, strings.TrimPrefix(string(a), "session."))
}

func exitOf(e *guest.Exit) *session.Exit {
	if e == nil {
		return nil
	}
	return &session.Exit{Cause: e.Cause, Code: e.Code, Signal: e.Signal, At: e.At, Ran: session.Duration(e.Ran), Leftovers: e.Leftovers, Detail: e.Detail}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Restart starts a new run in the session's container, which is started if it does
// not run.
func (r *Runtime) Restart(ctx context.Context, p session.Place, l session.Launch) (session.Place, error) {
	p, err := r.restart(ctx, p, l)
	if err != nil {
		return session.Place{}, fmt.Errorf("restart session %q: %w", l.Name, err)
	}
	return p, nil
}

func (r *Runtime) restart(ctx context.Context, p session.Place, l session.Launch) (session.Place, error) {
	i, err := r.inspect(ctx, p)
	if err != nil {
		return p, err
	}
	if i.Config.Labels[labelID] != l.Mark.ID {
		return p, fmt.Errorf("container %s is not this session's", p.Name)
	}
	c, err := r.engine()
	if err != nil {
		return p, err
	}
	of, err := ownerOf(l.Spec.Runtime.Docker)
	if err != nil {
		return p, err
	}
	p.Runtime, p.Socket, p.Container, p.Name = "docker", guest.KeptSocket, i.ID, strings.TrimPrefix(i.Name, "/")
	if i.State.Paused {
		if err := c.ContainerUnpause(ctx, i.ID); err != nil {
			return p, explain(err)
		}
	}
	if !i.State.Running {
		if err := r.shared(l.Mark.ID).make(of); err != nil { // the socket folder may be gone with a reboot
			return p, err
		}
		if err := c.ContainerStart(ctx, i.ID, container.StartOptions{}); err != nil {
			return p, explain(err)
		}
	} else if err := r.vacant(ctx, l.Mark.ID); err != nil {
		return p, err
	}
	if err := r.begin(ctx, p, l, of); err != nil {
		// The place was there before and stays; the run must not.
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		_ = os.Remove(r.shared(l.Mark.ID).secrets(l.Mark.Run)) // taken already is as good
		return p, errors.Join(err, r.keeper(l.Mark.ID).End(undo, l.Mark.Run, l.RunDir, "SIGKILL", 0))
	}
	return p, nil
}

// vacant is why a new run cannot begin in a container that runs: another one has not
// ended, as far as can be told.
func (r *Runtime) vacant(ctx context.Context, id string) error {
	k, err := r.shared(id).kept()
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was ever started in it
	}
	if err != nil {
		return err
	}
	in, err := r.keeper(id).Look(ctx, r.runDir(k.Mark.Run))
	switch {
	case err != nil:
		return fmt.Errorf("whether an agent lives in it cannot be told: %w", err)
	case in.Agent:
		return errors.New("the agent in it is alive")
	case in.Guest && r.facts(id, k.Mark.Run).Exit == nil:
		return errors.New("what its agent has left behind is being ended")
	}
	return nil
}
