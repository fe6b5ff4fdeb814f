package docker

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/reported"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

const (
	// parallelLooks is how many containers are inspected at once.
	parallelLooks = 32
	// young is how long after its creation a container may have no run, since another agentform may
	// be starting it.
	young = 10 * time.Second
	// exitDelay bounds the wait for a shim to record the exit of its agent.
	exitDelay = time.Second
)

// Observe lists all containers of the engine in one call, since a foreign container can have a
// requested name. It sends one request to the init of each running managed container, and inspects
// the others. A runtime that can start sessions also removes unused containers of commands, such as
// those of an agentform that was killed or lost the engine.
func (r *Runtime) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	c, all, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	o := observation{engine: c, runtime: r, exec: r.exec, exists: make(map[string]bool, len(all)), programs: map[string]string{}, screens: screens}
	for _, x := range all {
		o.exists[x.ID], o.programs[x.ID] = true, x.Labels[labelProgram]
	}
	if r.config.elsewhere() {
		r.files.noteGone(o.exists)
	}
	adopted := map[string]string{}
	links, _ := os.ReadDir(r.files.adoptions())
	for _, l := range links {
		if id, ok := r.files.adopted(l.Name()); ok {
			adopted[l.Name()] = id
		}
	}
	lives := make([]session.Live, 0, len(all))
	slots := make(chan struct{}, parallelLooks)
	var wg sync.WaitGroup
	acts := len(r.config.Shim) > 0
	for _, x := range all {
		if acts && r.commands.ours(x) {
			if abandoned, _ := r.commands.abandoned(x); abandoned {
				wg.Go(func() { r.commands.sweep(ctx, c, x) })
			}
		}
		if x.Labels[labelOneOff] != "" || len(x.Names) == 0 {
			continue
		}
		lives = append(lives, listed(x, r.config, adopted[x.ID]))
		if l := &lives[len(lives)-1]; !l.Foreign { // lives has the capacity, so that l stays valid
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				o.assess(ctx, l, time.Unix(x.Created, 0))
			})
		}
	}
	wg.Wait()
	slices.SortFunc(lives, func(a, b session.Live) int { return strings.Compare(a.Location.Name, b.Location.Name) })
	return lives, nil
}

// list connects to the engine and lists its containers.
func (r *far) list(ctx context.Context) (c engine, all []container.Summary, err error) {
	if c, err = r.engine(); err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	all, err = c.ContainerList(limited, container.ListOptions{All: true})
	switch {
	case err == nil:
		return c, all, nil
	case limited.Err() != nil && ctx.Err() == nil:
		err = fmt.Errorf("the engine %s does not answer for %s", cmp.Or(r.config.Host, c.DaemonHost()), dialTimeout)
	}
	return nil, nil, fmt.Errorf("list containers: %w", explain(err))
}

// listed returns a container as described by the list. adopted is the session that the container
// was adopted as, or empty.
func listed(x container.Summary, c Config, adopted string) session.Live {
	mark := markOf(x.Labels)
	if adopted != "" {
		mark = session.Mark{Project: c.Lineage, ID: adopted}
	}
	name := strings.TrimPrefix(x.Names[0], "/")
	own := string(filepath.Separator) + layout.Data{}.Container(mark.ID).Runs() // also of a project that was moved
	return session.Live{
		Mark: mark,
		Copied: adopted == "" && mark.ID != "" && !onVolume(x) && !slices.ContainsFunc(x.Mounts, func(m container.MountPoint) bool {
			return strings.HasSuffix(m.Source, own)
		}),
		Location: session.Location{Runtime: "docker", Name: name, Container: x.ID, Socket: shim.TmuxSocket},
		Foreign:  adopted == "" && c.foreign(mark, name, x.Labels, x.Mounts),
		Ours:     c.ours(mark, x.Labels, x.Mounts),
		PlaceUp:  x.State == container.StateRunning || x.State == container.StatePaused,
		Frozen:   x.State == container.StatePaused,
		Liveness: session.Unknown,
	}
}

// markOf returns the mark in the labels of a container.
func markOf(labels map[string]string) session.Mark {
	return session.Mark{Project: labels[labelProject], Address: session.Address(labels[labelAddress]), ID: labels[labelID],
		Run: labels[labelRun], Hash: labels[labelHash]}
}

// ours reports whether a container was started from this data directory.
func (c Config) ours(m session.Mark, labels map[string]string, mounts []container.MountPoint) bool {
	return m.ID != "" && (labels[labelDataDir] == c.DataDir || slices.ContainsFunc(mounts, func(at container.MountPoint) bool {
		return at.Source == filepath.Join(c.DataDir, layout.Data{}.Container(m.ID).Runs())
	}))
}

// foreign reports whether a container is none of the project.
func (c Config) foreign(m session.Mark, name string, labels map[string]string, mounts []container.MountPoint) bool {
	return contained.Project{Lineage: c.Lineage, Name: c.Project}.Foreign(m, name, c.ours(m, labels, mounts))
}

// onVolume reports whether a container has the volume of a session.
func onVolume(x container.Summary) bool {
	return slices.ContainsFunc(x.Mounts, func(m container.MountPoint) bool {
		return m.Type == mount.TypeVolume && strings.HasPrefix(m.Name, "agentform-")
	})
}

// observation has what one call of Observe needs for each container.
type observation struct {
	engine  engine
	runtime *Runtime
	exec    *executor
	exists  map[string]bool // every container, by its id
	// programs are the shim's in containers elsewhere, by their ids.
	programs map[string]string
	screens  bool
}

func (o *observation) assess(ctx context.Context, l *session.Live, created time.Time) {
	f := o.runtime.session(l.Mark.ID, l.Location.Container, o.programs[l.Location.Container])
	k, err := f.load()
	if l.Copied = l.Copied || k.Container != l.Location.Container && o.exists[k.Container]; l.Copied {
		l.UnknownReason = "it has the labels of another container"
		return
	}
	if err == nil && k.Mark.ID == l.Mark.ID {
		l.Mark, l.Spec = k.Mark, k.Spec
	}
	init := f.init()
	if f.dial != nil {
		init.workspace, init.live = k.Dir, l
	}
	var in inside = init
	at := contained.Pane
	if k.Pane != "" {
		l.Location.Socket, l.Location.Pane = "", k.Pane
		in, at = byExec{o.exec, l.Location.Container, k.Pane}, k.Pane
	}
	if l.Frozen {
		o.recheck(ctx, l)
	}
	if !l.PlaceUp || l.Frozen { // its init cannot answer
		o.fromDisk(ctx, l, f)
		return
	}
	deadline := time.Now().Add(exitDelay)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		seen, err := in.Look(ctx, f.runInside(l.Mark.Run), at, tmuxwire.PaneFormat, o.screens)
		if err != nil {
			l.Liveness, l.UnknownReason = session.Unknown, err.Error()
			if o.recheck(ctx, l); !l.PlaceUp {
				o.fromDisk(ctx, l, f)
			}
			return
		}
		l.Liveness, l.Exit, l.UnknownReason = reported.Liveness(seen, time.Since(created) < young)
		l.BootID, l.Started = seen.BootID, seen.StartedAt
		l.Agent = session.Process{PID: seen.Process.PID, Start: seen.Process.Start}
		contained.Show(l, seen, k.Paused, o.screens)
		ending := seen.Shim && !seen.Agent && seen.Exit == nil && seen.Process.PID != 0
		if !ending || time.Now().After(deadline) || !sleep.For(ctx, wait) {
			return
		}
	}
}

// recheck corrects the listed state of a container that has ended. The engine reports the end while
// it still lists the container as running; an inspection waits for it.
func (o *observation) recheck(ctx context.Context, l *session.Live) {
	if i, err := inspect(ctx, o.engine, l.Location.Container); err == nil && !i.State.Running {
		l.PlaceUp, l.Frozen = false, false
	}
}

// fromDisk adds the facts in a run's directory for a container that is paused or not running.
func (o *observation) fromDisk(ctx context.Context, l *session.Live, at dirs) {
	if at.dial != nil && proc.ValidRun(l.Mark.Run) {
		if files, err := copyFiles(ctx, o.engine, l.Location.Container, at.runInside(l.Mark.Run)); err == nil {
			_ = contained.Keep(at.runs, l.Mark.Run, files) // otherwise only the copy is known
		}
	}
	f := at.facts(l.Mark.Run)
	l.BootID, l.Started, l.Agent = f.BootID, f.StartedAt, session.Process{PID: f.Agent.PID, Start: f.Agent.Start}
	l.Exit = reported.ClaimedExit(f.Exit)
	if l.PlaceUp {
		l.Liveness, l.InputOff = session.Alive, true
		if l.Exit != nil {
			l.Liveness, l.Frozen = session.Dead, false
		}
		return
	}
	l.Liveness, l.UnknownReason = session.Dead, "the container is not running"
	i, err := inspect(ctx, o.engine, l.Location.Container)
	if err != nil {
		return
	}
	l.UnknownReason = stopReason(i.State)
	// A clean exit means that the work is done and never repeated, so the engine must confirm it.
	if l.Exit != nil && l.Exit.Code == 0 && l.Exit.Signal == "" && i.State.OOMKilled {
		l.Exit.Code, l.Exit.Detail = 1, "the exit file says 0, and the container ran out of memory"
	}
}
