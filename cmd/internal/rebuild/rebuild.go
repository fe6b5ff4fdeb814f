// Package rebuild recovers a lost or damaged state from what its sessions left.
package rebuild

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// Input is the project whose state is to be rebuilt.
type Input struct {
	Manifest *config.Manifest
	State    string // the path of the state
	Version  string // of agentform
	Owner    session.Owner
	By       string // the user
	Runtime  func(lineage string, spec session.RuntimeSpec) (session.Runtime, error)
	Facts    func(run string) session.RunFacts
	Launched func(run string) *session.Spec
}

// Found is the state as it can be rebuilt.
type Found struct {
	State   state.State
	Sum     string                     // of the file before reading; see state.Rebuild
	Sound   bool                       // the file can be read
	None    bool                       // there is no file
	Added   map[session.Address]string // the sessions missing in the file, with the place of each
	LeftOut []string                   // what was found but not used, with the reason
	removed []removedRun
}

// removedRun is a run that is running without its directory.
type removedRun struct {
	rundir.Living
	since time.Time
}

// RestoreRuns restores the directories of running runs that were removed, as by git clean. It may
// be repeated.
func (x *Found) RestoreRuns(m *config.Manifest) error {
	for _, r := range x.removed {
		if err := rundir.Restore(layout.Data{Dir: m.DataDir}.Run(r.Run), r.Shim, r.Agent, r.since); err != nil {
			return err
		}
	}
	return nil
}

// OutputsDir returns the directory of the copies of sessions' records.
func OutputsDir(m *config.Manifest) string {
	return cmp.Or(m.OutputsDir, layout.Data{Dir: m.DataDir}.Sessions())
}

// Find combines the state with copies of records, running sessions and the directories of runs.
func Find(ctx context.Context, in Input) (*Found, error) {
	x := &Found{Sum: state.Sum(in.State), Added: map[session.Address]string{}}
	st, err := state.Read(in.State)
	var newer *state.NewerError
	var copied *state.CopiedError
	if errors.As(err, &newer) || errors.As(err, &copied) {
		return nil, err // another version can read it, or another directory has it
	}
	x.Sound, x.None, x.State = err == nil, errors.Is(err, state.ErrNone), st
	mirrors, damaged := state.Mirrors(OutputsDir(in.Manifest))
	for _, path := range damaged {
		x.LeftOut = append(x.LeftOut, path+": damaged")
	}
	lives, err := in.running(ctx, mirrors)
	if err != nil {
		return nil, err
	}
	if !x.Sound {
		x.State = state.State{Version: state.Version, Project: in.Manifest.Project, Agentform: in.Version,
			Serial: uint64(1 + len(mirrors)), Lineage: in.lineage(mirrors, lives)}
	}
	// Of several copies for one address, prefer the running one, then the newest.
	slices.SortStableFunc(mirrors, func(a, b state.Mirror) int {
		_, runsA := lives[a.Record.ID]
		_, runsB := lives[b.Record.ID]
		if runsA != runsB {
			return map[bool]int{true: -1, false: 1}[runsA]
		}
		return b.Record.UpdatedAt.Compare(a.Record.UpdatedAt)
	})
	for _, m := range mirrors {
		if o := m.Record.Owner.Lineage; o != "" && o != x.State.Lineage {
			x.LeftOut = append(x.LeftOut, m.Path+": it belongs to another state")
			continue
		}
		l, runs := lives[m.Record.ID]
		x.add(m.Record, describe(m, l, runs))
	}
	for _, id := range slices.Sorted(maps.Keys(lives)) {
		x.addRunning(in, lives[id])
	}
	x.addRuns(in)
	slices.SortFunc(x.State.Sessions, func(a, b session.Record) int { return cmp.Compare(a.Address, b.Address) })
	return x, nil
}

func (in Input) running(ctx context.Context, mirrors []state.Mirror) (map[string]session.Live, error) {
	specs := []session.RuntimeSpec{{Kind: "tmux"}}
	for _, s := range in.Manifest.Sessions {
		specs = append(specs, s.Runtime)
	}
	for _, m := range mirrors {
		specs = append(specs, m.Record.Spec.Runtime)
	}
	asked, found := map[string]bool{}, map[string]session.Live{}
	for _, spec := range specs {
		if asked[spec.Engine()] {
			continue
		}
		asked[spec.Engine()] = true
		rt, err := in.Runtime("", spec)
		if err != nil {
			return nil, err
		}
		lives, err := rt.Observe(ctx, false)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be inspected, so the state would not be complete: %w", spec.Engine(), err)
		}
		for _, l := range lives {
			if l.Mark.ID == "" || l.Mark.Run == "" || l.Copied {
				continue
			}
			if _, err := os.Stat(in.runDir(l.Mark.Run)); err == nil || l.Ours && l.Location.Traits().HostProcesses {
				found[l.Mark.ID] = l
			}
		}
	}
	return found, nil
}

func (in Input) runDir(run string) string { return layout.Data{Dir: in.Manifest.DataDir}.Run(run) }

func (in Input) lineage(mirrors []state.Mirror, lives map[string]session.Live) string {
	if lineage, err := state.Lineage(in.State, in.Manifest.OutputsDir); err == nil && lineage != "" {
		return lineage
	}
	for _, m := range mirrors {
		if l := m.Record.Owner.Lineage; l != "" {
			return l
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lives)) {
		return lives[id].Mark.Project
	}
	return state.NewLineage()
}

// add adds a session unless the state has it.
func (x *Found) add(r session.Record, detail string) {
	for _, have := range x.State.Sessions {
		if have.ID == r.ID {
			return
		}
		if have.Address == r.Address {
			x.LeftOut = append(x.LeftOut, fmt.Sprintf("%s (%s): another session has its address", r.Address, r.ID))
			return
		}
	}
	x.State.Sessions = append(x.State.Sessions, r)
	x.Added[r.Address] = fmt.Sprintf("%s: %s", r.Address, detail)
}

func (x *Found) addRunning(in Input, l session.Live) {
	if slices.ContainsFunc(x.State.Sessions, func(r session.Record) bool { return r.ID == l.Mark.ID }) {
		return
	}
	if l.Mark.Project != x.State.Lineage {
		x.LeftOut = append(x.LeftOut, fmt.Sprintf("%s in %s: it belongs to another state", l.Mark.Address, l.Location.Name))
		return
	}
	spec, from := in.Launched(l.Mark.Run), "its run"
	if spec == nil {
		spec, from = x.declaredAs(in, &l), "the manifest"
	}
	if spec == nil {
		x.LeftOut = append(x.LeftOut, fmt.Sprintf("%s in %s: its start settings are lost, and the manifest does not declare it as it was started; to stop it: %s",
			l.Mark.Address, l.Location.Name, l.Location.CommandLine(l.Location.Traits().End, plaintext.ShellWord)))
		return
	}
	spec.Address = l.Mark.Address
	x.add(x.restore(in, l, *spec), fmt.Sprintf("running in %s; no record left, restored from %s", l.Location.Name, from))
}

// declaredAs returns the spec of a running session whose run no longer has it: the manifest's, if
// that is the same. Nil: not known.
func (x *Found) declaredAs(in Input, l *session.Live) *session.Spec {
	i := slices.IndexFunc(in.Manifest.Sessions, func(s session.Spec) bool {
		return s.Address == l.Mark.Address && s.Hash() == l.Mark.Hash && s.Workspace.Path == l.Dir
	})
	living := rundir.LivingRuns(func(run string) bool { return run != l.Mark.Run })
	if i < 0 || len(living) == 0 {
		return nil
	}
	r := removedRun{Living: living[0], since: time.Now()}
	// Its shim has been listening since its start.
	if info, err := os.Stat(filepath.Join(filepath.Dir(l.Location.Socket), "g-"+l.Mark.Run)); err == nil {
		r.since = info.ModTime()
	}
	l.Started, l.BootID = r.since, in.Owner.BootID
	l.Agent = session.Process{PID: r.Agent.PID, Start: r.Agent.Start}
	x.removed = append(x.removed, r)
	spec := in.Manifest.Sessions[i]
	return &spec
}

// addRuns finds sessions with a running agent, and declared ones that were stopped manually.
func (x *Found) addRuns(in Input) {
	known := map[string]bool{}
	for _, r := range x.State.Sessions {
		known[r.Run.ID] = true
		for _, run := range r.Past {
			known[run] = true
		}
	}
	type left struct {
		run string
		rundir.Facts
	}
	var runs []left
	entries, _ := os.ReadDir(in.runDir("")) // if unreadable, there are none
	for _, e := range entries {
		f, _ := rundir.ReadFacts(in.runDir(e.Name())) // if unreadable, it has no spec
		if !known[e.Name()] && len(f.Spec) > 0 {
			runs = append(runs, left{e.Name(), f})
		}
	}
	slices.SortFunc(runs, func(a, b left) int { return b.StartedAt.Compare(a.StartedAt) })
	for _, f := range runs {
		spec := in.Launched(f.run)
		if spec == nil || slices.ContainsFunc(x.State.Sessions, func(r session.Record) bool { return r.Address == spec.Address }) {
			continue
		}
		alive := f.Agent.Alive()
		stopped := !alive && f.Exit != nil && f.Exit.Cause == rundir.CauseRequested && in.declares(spec.Address)
		if !alive && !stopped {
			continue
		}
		l := session.Live{Mark: session.Mark{ID: spec.Address.Block() + "-" + f.run[:min(len(f.run), 8)], Run: f.run},
			Location: session.Location{Runtime: spec.Runtime.Kind}, Started: f.StartedAt, BootID: f.BootID}
		detail := fmt.Sprintf("its agent is running (process %d)", f.Agent.PID)
		r := x.restore(in, l, *spec)
		if stopped {
			detail = "stopped"
			r.Run.EndedAt, r.UpdatedAt = f.Exit.At, f.Exit.At
			r.Override = &session.Override{Desired: session.Stopped, By: in.By, At: f.Exit.At}
		}
		x.add(r, fmt.Sprintf("%s; no record left, restored from %s", detail, in.runDir(f.run)))
	}
}

func (in Input) declares(a session.Address) bool {
	return slices.ContainsFunc(in.Manifest.Sessions, func(s session.Spec) bool { return s.Address == a })
}

func (x *Found) restore(in Input, l session.Live, spec session.Spec) session.Record {
	origin := session.FromRun
	if in.declares(spec.Address) {
		origin = session.FromManifest
	}
	facts := in.Facts(l.Mark.Run)
	if facts.Agent.PID == 0 {
		facts.Agent = l.Agent
	}
	r := apply.Restored(l, spec, facts, spec.Address, origin, in.Manifest.DataDir)
	r.Owner = in.Owner
	r.Owner.Lineage = x.State.Lineage
	return r
}

func describe(m state.Mirror, l session.Live, runs bool) string {
	r := m.Record
	text := "recorded"
	switch {
	case r.Spent():
		text = "landed"
	case r.Finished != nil:
		text = "finished"
	}
	if o := r.Override; o != nil {
		text += fmt.Sprintf(", set to %s by %s", o.Desired, o.By)
	}
	if r.Origin != session.FromManifest {
		text += ", from " + string(r.Origin)
	}
	if runs {
		text += ", found in " + l.Location.Name
	}
	return text + " (" + m.Path + ")"
}

// Lost finds copies of records without a state. Without a rebuild, manually stopped sessions would
// start as new ones.
func Lost(m *config.Manifest, statePath string) (problem, remedy string) {
	mirrors, _ := state.Mirrors(OutputsDir(m))
	if len(mirrors) == 0 {
		return "", ""
	}
	return fmt.Sprintf("there is no state at %s, but %s left a record", statePath, plaintext.Count(len(mirrors), "session")),
		"to restore what was stopped, paused or started by agentform run: agentform state rebuild"
}
