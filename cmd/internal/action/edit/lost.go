package edit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/rebuild"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Rebuilt is a state recovered from what sessions left.
type Rebuilt struct {
	*rebuild.Found
	project *project.Project
}

// Lost finds a lost or damaged state. It changes nothing.
func Lost(ctx context.Context, p *project.Project) (*Rebuilt, error) {
	x, err := rebuild.Find(ctx, rebuild.Input{
		Manifest: p.Manifest, State: p.State, Version: p.Version, Owner: p.Owner(), By: p.Who().User,
		Runtime: p.Reconciler(project.ToRead).Opened, Facts: p.Facts, Launched: p.Launched,
	})
	if err == nil {
		err = p.Check(x.State)
	}
	return &Rebuilt{x, p}, err
}

// Lines returns what was found, a line for each session.
func (x *Rebuilt) Lines() (lines []string) {
	for _, address := range slices.SortedFunc(maps.Keys(x.Added), session.Address.Compare) {
		lines = append(lines, x.Added[address])
	}
	return lines
}

// Needed reports whether there is anything to write. It fails if there is no state and nothing to
// rebuild it from.
func (x *Rebuilt) Needed() (bool, error) {
	dir, p := rebuild.OutputsDir(x.project.Manifest), x.project
	switch {
	case x.Sound && len(x.Added) == 0:
		return false, nil
	case len(x.Added) == 0 && x.None:
		return false, fmt.Errorf("nothing to rebuild a state from: there is none at %s, no session left a record in %s, and none runs", p.State, dir)
	case len(x.Added) == 0:
		return false, fmt.Errorf("nothing to rebuild the state from: no session left a record in %s, and none runs; to start over, move away what is there: mv %s %[2]s.broken", dir, p.State)
	}
	return true, nil
}

// Write writes the state, and returns the backups of replaced files.
func (x *Rebuilt) Write(ctx context.Context) (backups []string, err error) {
	p := x.project
	if err := x.RestoreRuns(p.Manifest); err != nil {
		return nil, err
	}
	backups, err = state.Rebuild(ctx, p.State, x.State, x.Sum, p.Who(), p.LockTimeout)
	if err != nil || !p.Stored.Shared() {
		return backups, err
	}
	store, err := p.Lock(ctx) // closing it sends the rebuilt state
	if err != nil {
		return backups, err
	}
	return backups, store.Close()
}
