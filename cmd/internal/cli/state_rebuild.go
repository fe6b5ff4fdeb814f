package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

func stateRebuildCommand(a *app) *cobra.Command {
	approved := false
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild a lost or damaged state",
		Long: `Rebuilds the state from what the sessions left: the copy of each record in the session's
own directory, the marks of running tmux sessions and containers, and the directories of
their runs. What was stopped or paused stays so, sessions of agentform run are kept, and so
is the lineage. It shows what it found and asks before it writes. What is there is copied
first. Nothing that runs is touched. Where the state is sound, only what is missing in it is
added.`,
		Example: `  agentform state rebuild
  agentform state rebuild --auto-approve`,
		Args: arguments(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return rebuildState(c.Context(), a, approved) },
	}
	c.Flags().BoolVar(&approved, "auto-approve", false, "do not ask")
	return c
}

// rebuilding is what was found of a lost state.
type rebuilding struct {
	app     *app
	project *project
	seen    string                     // the sum of what was there before anything was looked at
	state   state.State                // as it will be
	sound   bool                       // the one that is there can be read
	none    bool                       // there is no file
	added   map[session.Address]string // what is not in that, for people
	left    []string                   // what was left out, and why
}

func rebuildState(ctx context.Context, a *app, approved bool) error {
	x := &rebuilding{app: a, project: a.open(), added: map[session.Address]string{}}
	if err := x.find(ctx); err != nil {
		return err
	}
	if err := x.project.check(x.state); err != nil {
		return err
	}
	for _, address := range slices.SortedFunc(maps.Keys(x.added), session.Address.Compare) {
		fmt.Fprintln(a.env.Stdout, plaintext.Safe(x.added[address]))
	}
	for _, l := range x.left {
		fmt.Fprintln(a.env.Stderr, "left out: "+plaintext.Safe(l))
	}
	switch {
	case x.sound && len(x.added) == 0:
		fmt.Fprintf(a.env.Stdout, "The state is complete: %s, and nothing else was found.\n", counted(len(x.state.Sessions), "session"))
		return nil
	case len(x.added) == 0 && x.none:
		return fmt.Errorf("nothing to rebuild a state from: there is none at %s, no session left a record in %s, and none runs", x.project.state, x.outputs())
	case len(x.added) == 0:
		return fmt.Errorf("nothing to rebuild the state from: no session left a record in %s, and none runs; to start over, move away what is there: mv %s %[2]s.broken", x.outputs(), x.project.state)
	}
	if !approved {
		question := fmt.Sprintf("Write a state with %s (lineage %s)?", counted(len(x.state.Sessions), "session"), x.state.Lineage)
		if err := a.confirm(question, a.command+" --auto-approve"); err != nil {
			return err
		}
	}
	backups, err := state.Rebuild(ctx, x.project.state, x.state, x.seen, a.who(), a.globals.lockTimeout)
	for _, b := range backups {
		fmt.Fprintf(a.env.Stderr, "Backup: %s\n", b)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(a.env.Stdout, "Rebuilt the state: %s. Running sessions were not touched. Check it with: agentform plan\n", counted(len(x.state.Sessions), "session"))
	return nil
}

func (x *rebuilding) outputs() string {
	return cmp.Or(x.project.manifest.OutputsDir, filepath.Join(x.project.manifest.DataDir, "agents"))
}

// find lays together what is there of the state, the copies of records and what runs.
func (x *rebuilding) find(ctx context.Context) error {
	p := x.project
	x.seen = state.Sum(p.state)
	st, err := state.Read(p.state)
	var newer *state.NewerError
	var copied *state.CopiedError
	if errors.As(err, &newer) || errors.As(err, &copied) {
		return err // it can be read, by another version or in another directory
	}
	x.sound, x.none, x.state = err == nil, errors.Is(err, state.ErrNone), st
	mirrors, damaged := state.Mirrors(x.outputs())
	for _, path := range damaged {
		x.left = append(x.left, path+": damaged")
	}
	lives, err := x.running(ctx, mirrors)
	if err != nil {
		return err
	}
	if !x.sound {
		x.state = state.State{Version: state.Version, Project: p.manifest.Project, Agentform: x.app.env.Version,
			Serial: uint64(1 + len(mirrors)), Lineage: lineageOf(p, mirrors, lives)}
	}
	// Of several for one address the one that runs counts, then the newest.
	slices.SortStableFunc(mirrors, func(a, b state.Mirror) int {
		_, runsA := lives[a.Record.ID]
		_, runsB := lives[b.Record.ID]
		if runsA != runsB {
			return map[bool]int{true: -1, false: 1}[runsA]
		}
		return b.Record.UpdatedAt.Compare(a.Record.UpdatedAt)
	})
	for _, m := range mirrors {
		if o := m.Record.Owner.Lineage; o != "" && o != x.state.Lineage {
			x.left = append(x.left, m.Path+": it belongs to another state")
			continue
		}
		l, runs := lives[m.Record.ID]
		x.add(m.Record, mirrorWords(m, l, runs))
	}
	for _, id := range slices.Sorted(maps.Keys(lives)) {
		x.addRunning(lives[id])
	}
	x.addRuns()
	slices.SortFunc(x.state.Sessions, func(a, b session.Record) int { return cmp.Compare(a.Address, b.Address) })
	return nil
}

// running returns what runs of this data directory, by session id.
func (x *rebuilding) running(ctx context.Context, mirrors []state.Mirror) (map[string]session.Live, error) {
	specs := []session.RuntimeSpec{{Kind: "tmux"}}
	for _, s := range x.project.manifest.Sessions {
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
		rt, err := x.app.runtime(x.project, "", spec, toLook)
		if err != nil {
			return nil, err
		}
		x.app.closers = append(x.app.closers, closer(rt))
		lives, err := rt.Observe(ctx, false)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be inspected, so the state would not be complete: %w", spec.Engine(), err)
		}
		for _, l := range lives {
			if l.Mark.ID != "" && !l.Copied && fileExists(x.project.runDir(l.Mark.Run)) {
				found[l.Mark.ID] = l
			}
		}
	}
	return found, nil
}

// closer returns what closes a runtime.
func closer(rt session.Runtime) func() {
	if c, can := rt.(session.Closer); can {
		return c.Close
	}
	return func() {}
}

// lineageOf returns the lineage of a lost state: as its own file tells, or else the
// copies of the records, or else what runs.
func lineageOf(p *project, mirrors []state.Mirror, lives map[string]session.Live) string {
	if lineage, err := state.Lineage(p.state, p.manifest.OutputsDir); err == nil && lineage != "" {
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

// add takes a record into the state, unless it has the session or another one under the
// address already.
func (x *rebuilding) add(r session.Record, text string) {
	for _, have := range x.state.Sessions {
		if have.ID == r.ID {
			return
		}
		if have.Address == r.Address {
			x.left = append(x.left, fmt.Sprintf("%s (%s): another session has its address", r.Address, r.ID))
			return
		}
	}
	x.state.Sessions = append(x.state.Sessions, r)
	x.added[r.Address] = text
}

// addRunning takes in a session that runs and left no copy of its record.
func (x *rebuilding) addRunning(l session.Live) {
	p := x.project
	if slices.ContainsFunc(x.state.Sessions, func(r session.Record) bool { return r.ID == l.Mark.ID }) {
		return
	}
	spec := p.launched(l.Mark.Run)
	if l.Mark.Project != x.state.Lineage || spec == nil {
		x.left = append(x.left, fmt.Sprintf("%s in %s: it belongs to another state, or what it was started with is lost", l.Mark.Address, l.Place.Name))
		return
	}
	spec.Address = l.Mark.Address
	r := x.restored(l, *spec)
	x.add(r, fmt.Sprintf("%s: running in %s; no record left, restored from its run", r.Address, l.Place.Name))
}

// addRuns takes in the sessions of which only the directories of their runs are left:
// those whose agent still runs, and of what the manifest declares those that were
// stopped.
func (x *rebuilding) addRuns() {
	p := x.project
	known := map[string]bool{}
	for _, r := range x.state.Sessions {
		known[r.Run.ID] = true
		for _, run := range r.Past {
			known[run] = true
		}
	}
	type left struct {
		run string
		shim.Facts
	}
	var runs []left
	for _, e := range entries(filepath.Join(p.manifest.DataDir, "runs")) {
		f, _ := shim.ReadFacts(p.runDir(e.Name())) // what cannot be read tells nothing
		if !known[e.Name()] && len(f.Spec) > 0 {
			runs = append(runs, left{e.Name(), f})
		}
	}
	slices.SortFunc(runs, func(a, b left) int { return b.StartedAt.Compare(a.StartedAt) })
	for _, f := range runs {
		spec := p.launched(f.run)
		if spec == nil || slices.ContainsFunc(x.state.Sessions, func(r session.Record) bool { return r.Address == spec.Address }) {
			continue
		}
		runs := f.Agent.Alive()
		stopped := !runs && f.Exit != nil && f.Exit.Cause == shim.CauseRequested && p.declared(spec.Address) != nil
		if !runs && !stopped {
			continue
		}
		l := session.Live{Mark: session.Mark{ID: spec.Address.Block() + "-" + f.run[:min(len(f.run), 8)], Run: f.run},
			Place: session.Place{Runtime: spec.Runtime.Kind}, Started: f.StartedAt, BootID: f.BootID}
		text := fmt.Sprintf("its agent runs (process %d)", f.Agent.PID)
		r := x.restored(l, *spec)
		if stopped {
			text = "stopped"
			r.Run.EndedAt, r.UpdatedAt = f.Exit.At, f.Exit.At
			r.Override = &session.Override{Desired: session.Stopped, By: x.app.who().User, At: f.Exit.At}
		}
		x.add(r, fmt.Sprintf("%s: %s; no record left, restored from %s", r.Address, text, p.runDir(f.run)))
	}
}

// restored returns the record of a session that left none.
func (x *rebuilding) restored(l session.Live, spec session.Spec) session.Record {
	p := x.project
	origin := session.FromRun
	if p.declared(spec.Address) != nil {
		origin = session.FromManifest
	}
	r := apply.Restored(l, spec, p.facts(l.Mark.Run), spec.Address, origin, p.manifest.DataDir)
	r.Owner = p.here()
	r.Owner.Lineage = x.state.Lineage
	return r
}

// mirrorWords says of a record's copy what the session is.
func mirrorWords(m state.Mirror, l session.Live, runs bool) string {
	r := m.Record
	text := fmt.Sprintf("%s: %s", r.Address, cmp.Or(string(m.State), "recorded"))
	if o := r.Override; o != nil {
		text += fmt.Sprintf(", told to be %s by %s", o.Desired, o.By)
	}
	if r.Origin != session.FromManifest {
		text += ", from " + string(r.Origin)
	}
	if runs {
		text += ", found in " + l.Place.Name
	}
	return text + " (" + m.Path + ")"
}

// lostState warns where there is no state and sessions left their records: as new, they
// would be started though someone had stopped them.
func lostState(p *project, made plan.Plan) []session.Diagnostic {
	if made.Serial > 0 {
		return nil
	}
	problem, remedy := lostRecords(p)
	if problem == "" {
		return nil
	}
	return []session.Diagnostic{{Severity: session.Warning, Summary: "the state is lost", Detail: problem + "\n" + remedy}}
}

// lostRecords says, of a project without a state file, that its sessions left records,
// and what to do; empty: they left none.
func lostRecords(p *project) (problem, remedy string) {
	x := rebuilding{project: p}
	mirrors, _ := state.Mirrors(x.outputs())
	if len(mirrors) == 0 {
		return "", ""
	}
	return fmt.Sprintf("there is no state at %s, and %s left a record", p.state, counted(len(mirrors), "session")),
		"to restore what was stopped, paused or started by agentform run: agentform state rebuild"
}
