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
	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// looks is how many containers are asked at once. Each answer takes well under a
// millisecond; one that does not answer takes three seconds.
const looks = 32

// Observe lists all containers of the engine in one call, ours and others', since a
// name that another's has is not to be had, and asks the first process of each of
// ours that runs one question. One of ours that does not run is inspected.
func (r *Runtime) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	c, err := r.engine()
	if err != nil {
		return nil, err
	}
	all, err := c.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, fmt.Errorf("look at containers: %w", explain(err))
	}
	adopted, there := r.allAdopted(), make(map[string]bool, len(all))
	for _, x := range all {
		there[x.ID] = true
	}
	lives := make([]session.Live, 0, len(all))
	made := make([]time.Time, 0, len(all))
	for _, x := range all {
		if x.Labels[labelOnce] == "" && len(x.Names) > 0 {
			lives, made = append(lives, r.listed(x, adopted[x.ID])), append(made, time.Unix(x.Created, 0))
		}
	}
	places := make(chan struct{}, looks)
	var wg sync.WaitGroup
	for i := range lives {
		if l := &lives[i]; !l.Foreign {
			wg.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				r.assess(ctx, l, there, made[i], screens)
			})
		}
	}
	wg.Wait()
	slices.SortFunc(lives, func(a, b session.Live) int { return strings.Compare(a.Place.Name, b.Place.Name) })
	return lives, nil
}

// allAdopted are the sessions of the adopted containers.
func (r *Runtime) allAdopted() map[string]string {
	entries, _ := os.ReadDir(r.adoptions()) // there are none
	found := make(map[string]string, len(entries))
	for _, e := range entries {
		if id, ok := r.adopted(e.Name()); ok {
			found[e.Name()] = id
		}
	}
	return found
}

// listed is a container as the list has it; adopted is the session that it was adopted
// as, or empty.
func (r *Runtime) listed(x container.Summary, adopted string) session.Live {
	mark := session.Mark{Project: x.Labels[labelProject], Address: session.Address(x.Labels[labelAddress]), ID: x.Labels[labelID],
		Run: x.Labels[labelRun], Hash: x.Labels[labelHash]}
	if adopted != "" {
		mark = session.Mark{Project: r.config.Lineage, ID: adopted}
	}
	own := filepath.Join("containers", mark.ID, "runs") // wherever the project's folder is by now
	return session.Live{
		Mark: mark,
		Copied: adopted == "" && mark.ID != "" && !slices.ContainsFunc(x.Mounts, func(m container.MountPoint) bool {
			return strings.HasSuffix(m.Source, string(filepath.Separator)+own)
		}),
		Place:   session.Place{Runtime: "docker", Name: strings.TrimPrefix(x.Names[0], "/"), Container: x.ID, Socket: shim.KeptSocket},
		Foreign: mark.ID == "" || r.config.Lineage != "" && mark.Project != r.config.Lineage,
		PlaceUp: x.State == container.StateRunning || x.State == container.StatePaused,
		Frozen:  x.State == container.StatePaused,
		Vital:   session.Unknown,
	}
}

// aboutToWrite is how long a look waits for a guest whose agent is gone to write down
// how: that takes it milliseconds.
const aboutToWrite = time.Second

// assess adds to a container of ours how the session in it is; there are all
// containers.
func (r *Runtime) assess(ctx context.Context, l *session.Live, there map[string]bool, made time.Time, screen bool) {
	k, err := r.shared(l.Mark.ID).kept()
	if l.Copied = l.Copied || k.Container != l.Place.Container && there[k.Container]; l.Copied {
		l.Doubt = "it bears the labels of another container"
		return
	}
	if err == nil && k.Mark.ID == l.Mark.ID {
		l.Mark, l.Spec = k.Mark, k.Spec
	}
	in, pane := inside(r.keeper(l.Mark.ID)), pane
	if k.Pane != "" {
		l.Place.Socket, l.Place.Pane = "", k.Pane
		in, pane = byExec{r, l.Place.Container, k.Pane}, k.Pane
	}
	switch {
	case !l.PlaceUp:
		r.postMortem(ctx, l)
		return
	case l.Frozen: // and so is whoever could be asked
		r.still(l)
		return
	}
	deadline := time.Now().Add(aboutToWrite)
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		seen, err := in.Look(ctx, r.runIn(l.Mark.ID, l.Mark.Run), pane, tmuxwire.PaneFormat, screen)
		if err != nil {
			l.Vital, l.Doubt = session.Unknown, err.Error()
			return
		}
		l.Vital, l.Exit, l.Doubt = judge(seen, time.Since(made) < young)
		l.BootID, l.Started = seen.BootID, seen.StartedAt
		l.Agent = session.Process{PID: seen.Process.PID, Start: seen.Process.Start}
		if p, err := tmuxwire.ParsePane(seen.Row); err == nil {
			show(l, p, seen.Watching)
			if screen {
				l.Show(tmuxwire.Trim(seen.Screen))
			}
		}
		l.Frozen = k.Paused == session.Freeze && l.Vital != session.Dead
		if seen.Frozen && l.Vital == session.Alive && !l.Frozen {
			l.Frozen, l.Suspended = true, true
		}
		l.InputOff = l.InputOff || k.Paused != "" && l.Vital != session.Dead
		ending := seen.Guest && !seen.Agent && seen.Exit == nil && seen.Process.PID != 0
		if !ending || time.Now().After(deadline) || sleep(ctx, wait) != nil {
			return
		}
	}
}

// postMortem tells of a container that does not run what its folder says, and why it
// does not.
func (r *Runtime) postMortem(ctx context.Context, l *session.Live) {
	r.written(l)
	l.Vital, l.Doubt = session.Dead, "the container does not run"
	i, err := r.inspect(ctx, l.Place)
	if err != nil {
		return
	}
	l.Doubt = because(i.State)
	// A clean exit means that the work is done and is never run again, so it takes
	// that of the engine, too.
	if l.Exit != nil && l.Exit.Code == 0 && l.Exit.Signal == "" && i.State.OOMKilled {
		l.Exit.Code, l.Exit.Detail = 1, "the exit file says 0, and the container ran out of memory"
	}
}

// still tells of a container that somebody has paused what its folder says.
func (r *Runtime) still(l *session.Live) {
	r.written(l)
	l.Vital, l.InputOff = session.Alive, true
	if l.Exit != nil {
		l.Vital, l.Frozen = session.Dead, false
	}
}

// written adds what the folder of the run tells, of which nothing can be asked.
func (r *Runtime) written(l *session.Live) {
	f := r.facts(l.Mark.ID, l.Mark.Run) // what is missing proves nothing
	l.BootID, l.Started, l.Agent = f.BootID, f.StartedAt, session.Process{PID: f.Agent.PID, Start: f.Agent.Start}
	l.Exit = exitOf(f.Exit)
}
