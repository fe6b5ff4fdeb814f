package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

const (
	// parallelLooks is how many containers are asked at once.
	parallelLooks = 32
	// young is how long after its creation a container may have no run: another agentform
	// may be starting it.
	young = 10 * time.Second
	// exitDelay bounds the wait for a shim whose agent has ended to write the exit.
	exitDelay = time.Second
)

// Observe lists all containers of the engine in one call, since a foreign container can
// have a name that is wanted, and asks the init of each managed container that runs one
// question. A managed container that does not run is inspected.
func (r *Runtime) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	c, err := r.engine()
	if err != nil {
		return nil, err
	}
	all, err := c.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", explain(err))
	}
	o := observation{engine: c, files: r.files, exec: r.exec, exists: make(map[string]bool, len(all)), screens: screens}
	for _, x := range all {
		o.exists[x.ID] = true
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
	for _, x := range all {
		if x.Labels[labelOneOff] != "" || len(x.Names) == 0 {
			continue
		}
		lives = append(lives, listed(x, r.config.Lineage, adopted[x.ID]))
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

// listed returns what the list of containers says of one. adopted is the session that
// the container was adopted as, or empty.
func listed(x container.Summary, lineage, adopted string) session.Live {
	mark := session.Mark{Project: x.Labels[labelProject], Address: session.Address(x.Labels[labelAddress]), ID: x.Labels[labelID],
		Run: x.Labels[labelRun], Hash: x.Labels[labelHash]}
	if adopted != "" {
		mark = session.Mark{Project: lineage, ID: adopted}
	}
	own := string(filepath.Separator) + filepath.Join("containers", mark.ID, "runs") // also of a project that was moved
	return session.Live{
		Mark: mark,
		Copied: adopted == "" && mark.ID != "" && !slices.ContainsFunc(x.Mounts, func(m container.MountPoint) bool {
			return strings.HasSuffix(m.Source, own)
		}),
		Location: session.Location{Runtime: "docker", Name: strings.TrimPrefix(x.Names[0], "/"), Container: x.ID, Socket: shim.TmuxSocket},
		Foreign:  mark.ID == "" || lineage != "" && mark.Project != lineage,
		PlaceUp:  x.State == container.StateRunning || x.State == container.StatePaused,
		Frozen:   x.State == container.StatePaused,
		Liveness: session.Unknown,
	}
}

// observation is what one call of Observe needs for each container.
type observation struct {
	engine  engine
	files   files
	exec    *executor
	exists  map[string]bool // every container, by its id
	screens bool
}

func (o *observation) assess(ctx context.Context, l *session.Live, created time.Time) {
	f := o.files.session(l.Mark.ID)
	k, err := f.load()
	if l.Copied = l.Copied || k.Container != l.Location.Container && o.exists[k.Container]; l.Copied {
		l.UnknownReason = "it has the labels of another container"
		return
	}
	if err == nil && k.Mark.ID == l.Mark.ID {
		l.Mark, l.Spec = k.Mark, k.Spec
	}
	var in inside = f.init()
	at := pane
	if k.Pane != "" {
		l.Location.Socket, l.Location.Pane = "", k.Pane
		in, at = byExec{o.exec, l.Location.Container, k.Pane}, k.Pane
	}
	if l.Frozen {
		o.recheck(ctx, l)
	}
	if !l.PlaceUp || l.Frozen { // nobody can be asked
		o.fromDisk(ctx, l, f.facts(l.Mark.Run))
		return
	}
	deadline := time.Now().Add(exitDelay)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		seen, err := in.Look(ctx, f.runInside(l.Mark.Run), at, tmuxwire.PaneFormat, o.screens)
		if err != nil {
			l.Liveness, l.UnknownReason = session.Unknown, err.Error()
			if o.recheck(ctx, l); !l.PlaceUp {
				o.fromDisk(ctx, l, f.facts(l.Mark.Run))
			}
			return
		}
		l.Liveness, l.Exit, l.UnknownReason = judge(seen, time.Since(created) < young)
		l.BootID, l.Started = seen.BootID, seen.StartedAt
		l.Agent = session.Process{PID: seen.Process.PID, Start: seen.Process.Start}
		if p, err := tmuxwire.ParsePane(seen.Row); err == nil {
			show(l, p, seen.Watching)
			if o.screens {
				l.Show(tmuxwire.Trim(seen.Screen))
			}
		}
		dead := l.Liveness == session.Dead
		l.Frozen = k.Paused == session.Freeze && !dead
		if seen.Frozen && l.Liveness == session.Alive && !l.Frozen {
			l.Frozen, l.Suspended = true, true
		}
		l.InputOff = l.InputOff || k.Paused != "" && !dead
		ending := seen.Shim && !seen.Agent && seen.Exit == nil && seen.Process.PID != 0
		if !ending || time.Now().After(deadline) || sleep(ctx, wait) != nil {
			return
		}
	}
}

// recheck corrects what the list says of a container that has ended. The engine reports
// the end while it still lists the container as running; an inspection waits for it.
func (o *observation) recheck(ctx context.Context, l *session.Live) {
	if i, err := inspect(ctx, o.engine, l.Location.Container); err == nil && !i.State.Running {
		l.PlaceUp, l.Frozen = false, false
	}
}

// fromDisk adds what a run's directory says of a container that is paused or does not
// run.
func (o *observation) fromDisk(ctx context.Context, l *session.Live, f rundir.Facts) {
	l.BootID, l.Started, l.Agent = f.BootID, f.StartedAt, session.Process{PID: f.Agent.PID, Start: f.Agent.Start}
	l.Exit = exitOf(f.Exit)
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
	// A clean exit means that the work is done and is never run again, so the engine has to
	// agree.
	if l.Exit != nil && l.Exit.Code == 0 && l.Exit.Signal == "" && i.State.OOMKilled {
		l.Exit.Code, l.Exit.Detail = 1, "the exit file says 0, and the container ran out of memory"
	}
}

// judge decides whether a run's agent is alive by its processes, as the init sees them,
// and by its directory. reason says why that is unknown. created reports whether the
// container was created just now.
func judge(in shim.ContainerRun, created bool) (v session.Liveness, exit *session.Exit, reason string) {
	switch {
	case in.Agent && in.Exit != nil:
		return session.Unknown, nil, "an exit is recorded, and the agent's process runs"
	case in.Agent:
		return session.Alive, nil, ""
	case in.Exit != nil:
		return session.Dead, exitOf(in.Exit), ""
	case in.Shim && in.Process.PID == 0:
		return session.Alive, nil, "" // about to start it
	case in.Shim:
		return session.Unknown, nil, "its agent has exited, and its leftover processes are being stopped"
	case !in.Claimed && created:
		return session.Unknown, nil, "its container was just created, and nothing was started in it yet"
	}
	return session.Dead, nil, ""
}

func show(l *session.Live, p tmuxwire.Pane, watching bool) {
	l.InputOff = p.InputOff
	l.Size, l.MovedAt, l.Title = p.Size, p.ActiveAt, p.Title
	if l.Attached = p.Attached; watching {
		l.Attached = max(0, p.Attached-1)
	}
}

const detailLimit = 500

// exitOf returns an exit that a container reported, with a detail of one line.
func exitOf(e *rundir.Exit) *session.Exit {
	if e == nil {
		return nil
	}
	detail := shim.OneLine(e.Detail, detailLimit)
	return &session.Exit{Cause: e.Cause, Code: e.Code, Signal: e.Signal, At: e.At, Ran: session.Duration(e.Ran), Leftovers: e.Leftovers, Detail: detail}
}
