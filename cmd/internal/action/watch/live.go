package watch

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/ui"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/stamp"
	"github.com/agentform/agentform/session"
)

// Live is a project whose sessions are looked at again and again, also after its manifest has changed.
type Live struct {
	open     func() (*project.Project, *fleet.Observer, error)
	project  *project.Project
	observer *fleet.Observer
	read     map[string]stamp.Stamp // the manifest as it was read
	last     atomic.Pointer[look]
}

// look is what was observed last, and by what.
type look struct {
	*fleet.Snapshot
	observer *fleet.Observer
}

// NewLive looks at a project. open opens it again.
func NewLive(p *project.Project, e *fleet.Observer, open func() (*project.Project, *fleet.Observer, error)) *Live {
	e.CountInBackground()
	b := &Live{open: open, project: p, observer: e}
	b.read = b.manifest()
	return b
}

// Look observes all sessions. It reads the manifest again when that has changed.
func (b *Live) Look(ctx context.Context) (ui.Fleet, error) {
	if now := b.manifest(); !maps.Equal(now, b.read) {
		p, e, err := b.open()
		if err != nil {
			return ui.Fleet{}, err
		}
		e.CountInBackground()
		b.project, b.observer = p, e
		b.read = b.manifest()
	}
	s, err := b.observer.Look(ctx)
	if err != nil {
		return ui.Fleet{}, err
	}
	b.last.Store(&look{s, b.observer})
	return Rows(b.project, s, time.Now()), nil
}

// Heard changes when there is something to look at. It is called between looks.
func (b *Live) Heard() int64 {
	var runs []string
	if s := b.last.Load(); s != nil {
		runs = s.Runs()
	}
	return b.observer.Activity.Heard(runs) + b.observer.News()
}

// manifest returns the stamps of the files of the manifest, which change with it.
func (b *Live) manifest() map[string]stamp.Stamp {
	p := b.project
	now := map[string]stamp.Stamp{}
	for _, path := range append([]string{p.Dir}, p.Manifest.Files...) {
		if s, err := stamp.Stat(path); err == nil {
			now[path] = s
		}
	}
	return now
}

// Screen captures with less work than the command capture, which observes all sessions.
func (b *Live) Screen(ctx context.Context, address session.Address, lines int) (string, error) {
	s := b.last.Load()
	k := s.Of(address)
	if k.Record == nil {
		return "", target.NotApplied(address)
	}
	if k.Live == nil {
		return "", fmt.Errorf("no screen: %s", k.Diagnosis.Detail)
	}
	runtime, err := s.observer.Engine.For(k.Record.Spec)
	if err != nil {
		return "", err
	}
	return runtime.Capture(ctx, k.Live.Location, lines)
}

// Events returns the history of a session as it was when it was looked at last.
func (b *Live) Events(address session.Address) []history.Event {
	return history.InOrder(b.last.Load().Of(address).Events)
}
