package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/agentform/agentform/internal/guest"
	"github.com/agentform/agentform/session"
)

// looks is how many containers are asked at once. Each answer takes well under a
// millisecond; one that does not answer takes two seconds.
const looks = 16

// starting is how long a container may be without a run after it was made: somebody
// may be at work on it.
const starting = 10 * time.Second

// Observe lists all containers of the engine in one call, ours and others', and
// asks the first process of each of ours two questions, three when screens are
// wanted.
func (r *Runtime) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	c, err := r.engine()
	if err != nil {
		return nil, err
	}
	all, err := c.ContainerList(ctx, container.ListOptions{All: true})
	if err != nil {
		return nil, fmt.Errorf("look at containers: %w", explain(err))
	}
	var lives []session.Live
	for _, x := range all {
		if x.Labels[labelOnce] == "" && len(x.Names) > 0 {
			lives = append(lives, r.listed(x))
		}
	}
	places := make(chan struct{}, looks)
	var wg sync.WaitGroup
	for i := range lives {
		if l := &lives[i]; !l.Foreign {
			wg.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				r.assess(ctx, l, time.Unix(created(all, l.Place.Container), 0), screens)
			})
		}
	}
	wg.Wait()
	slices.SortFunc(lives, func(a, b session.Live) int { return strings.Compare(a.Place.Name, b.Place.Name) })
	return lives, nil
}

func created(all []container.Summary, id string) int64 {
	i := slices.IndexFunc(all, func(x container.Summary) bool { return x.ID == id })
	return all[i].Created
}

// listed is a container as the list has it.
func (r *Runtime) listed(x container.Summary) session.Live {
	mark := session.Mark{Project: x.Labels[labelProject], Address: session.Address(x.Labels[labelAddress]), ID: x.Labels[labelID],
		Run: x.Labels[labelRun], Hash: x.Labels[labelHash]}
	l := session.Live{
		Mark:    mark,
		Place:   session.Place{Runtime: "docker", Name: strings.TrimPrefix(x.Names[0], "/"), Container: x.ID, Socket: guest.KeptSocket},
		Foreign: mark.ID == "" || r.config.Lineage != "" && mark.Project != r.config.Lineage,
		PlaceUp: x.State == "running" || x.State == "paused" || x.State == "restarting",
		Frozen:  x.State == "paused",
		Vital:   session.Unknown,
	}
	return l
}

// assess adds to a container of ours how the session in it is.
func (r *Runtime) assess(ctx context.Context, l *session.Live, made time.Time, screens bool) {
	k, err := r.shared(l.Mark.ID).kept()
	if err == nil && k.Mark.ID == l.Mark.ID {
		l.Mark = k.Mark
	}
	f := r.facts(l.Mark.ID, l.Mark.Run) // what is missing proves nothing
	l.BootID, l.Started, l.Agent = f.BootID, f.StartedAt, session.Process{PID: f.Agent.PID, Start: f.Agent.Start}
	switch {
	case !l.PlaceUp:
		l.Vital, l.Exit = session.Dead, exitOf(f.Exit)
		l.Doubt = "the container does not run"
		if i, err := r.inspect(ctx, l.Place); err == nil {
			l.Doubt = because(i.State)
		}
		return
	case l.Frozen: // and so is whoever could be asked
		l.Vital = session.Alive
		return
	}
	in, err := r.keeper(l.Mark.ID).Look(ctx, r.runDir(l.Mark.Run))
	if err != nil {
		l.Doubt = err.Error()
		return
	}
	if !in.Agent && f.Exit == nil { // it may have ended between the two looks
		f = r.facts(l.Mark.ID, l.Mark.Run)
	}
	l.Vital, l.Exit, l.Doubt = judge(in, f, time.Since(made) < starting)
	if l.Vital == session.Alive {
		l.Frozen, l.InputOff = k.Paused == session.Freeze, k.Paused != ""
	}
	r.show(ctx, l, screens)
}

// judge says whether a run's agent lives: by its processes, as the first process of
// the container sees them, and by what the run's folder says. doubt is why it cannot
// be told.
func judge(in guest.Inside, f guest.Facts, young bool) (v session.Vital, exit *session.Exit, doubt string) {
	switch {
	case in.Agent && f.Exit != nil:
		return session.Unknown, nil, "an exit is written down, and the agent's process runs"
	case in.Agent:
		return session.Alive, nil, ""
	case f.Exit != nil:
		return session.Dead, exitOf(f.Exit), ""
	case in.Guest && f.Agent.PID == 0:
		return session.Alive, nil, "" // about to start it
	case in.Guest:
		return session.Unknown, nil, "its agent has ended, and what that left behind is being ended"
	case !f.Claimed && young:
		return session.Unknown, nil, "its container was made just now, and nothing was started in it yet"
	}
	return session.Dead, nil, ""
}

// show adds what the terminal shows. What cannot be had is left out.
func (r *Runtime) show(ctx context.Context, l *session.Live, screen bool) {
	target := exactly(l.Place.Name)
	if screen {
		if text, err := r.screen(ctx, l.Mark.ID, l.Place.Name, 0); err == nil {
			l.Screen = text
		}
	}
	text, err := r.tmux(ctx, l.Mark.ID, "", "display-message", "-p", "-t", target, "#{session_attached}|#{pane_width}|#{pane_height}|#{window_activity}|#{pane_title}")
	if err != nil {
		return
	}
	var moved int64
	f := strings.SplitN(strings.TrimSuffix(text, "\n"), "|", 5)
	if len(f) < 5 {
		return
	}
	if _, err := fmt.Sscan(strings.Join(f[:4], " "), &l.Attached, &l.Size[0], &l.Size[1], &moved); err == nil {
		l.MovedAt, l.Title = time.Unix(moved, 0), f[4]
	}
}
