package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/agentform/agentform/session"
)

// join is the input of Compute by address.
type join struct {
	in        Input
	addresses []session.Address // wanted or recorded, in order
	wanted    map[session.Address]*session.Spec
	records   map[session.Address]*session.Record
	moved     map[session.Address]session.Address // new to old
	lives     map[session.Address]*session.Live
	// ambiguous addresses have several live objects and no recorded run among them.
	ambiguous map[session.Address][]session.Live
	orphans   []session.Live
	lost      []session.Live
	foreign   map[string]session.Live // by outside name
	refused   map[string]Refusal      // by the digest of the credential
	spent     map[string]Quota        // likewise, under the hub
	problems  []session.Diagnostic
}

func newJoin(in Input) *join {
	j := &join{
		in:        in,
		wanted:    make(map[session.Address]*session.Spec, len(in.Wanted)),
		lives:     make(map[session.Address]*session.Live, len(in.World.Lives)),
		ambiguous: map[session.Address][]session.Live{},
		foreign:   map[string]session.Live{},
		lost:      lostAgents(in),
	}
	if in.Hub != nil {
		j.refused, j.spent = Refusals(in.Records, in.Hub.Access), Quotas(in.Records, in.Hub.Limits, in.Now)
	}
	for i := range in.Wanted {
		w := &in.Wanted[i]
		j.wanted[w.Address] = w
	}
	j.records, j.moved, j.problems = applyMoves(in.Records, in.Moves)
	j.addresses = slices.Collect(maps.Keys(j.wanted))
	for a := range j.records {
		if j.wanted[a] == nil {
			j.addresses = append(j.addresses, a)
		}
	}
	slices.SortFunc(j.addresses, session.Address.Compare)
	j.match()
	return j
}

// match finds the live object of each session, that of the recorded run, and orphans. Without a
// record there must be only one, since nothing shows which of several to keep.
func (j *join) match() {
	byAddress := map[session.Address][]session.Live{}
	recorded := make(map[string]session.Address, len(j.records))
	for a, r := range j.records {
		recorded[r.ID] = a
	}
	for _, l := range j.in.World.Lives {
		if l.Foreign || l.Mark.Project != j.in.Lineage {
			j.foreign[l.Location.Name] = l
			continue
		}
		if l.Copied {
			j.orphans = append(j.orphans, l)
			continue
		}
		a := cmp.Or(recorded[l.Mark.ID], l.Mark.Address) // the mark of a moved session has the old address
		byAddress[a] = append(byAddress[a], l)
	}
	for a, lives := range byAddress {
		r, w := j.records[a], j.wanted[a]
		sortLives(lives, r)
		keep := -1
		if r != nil {
			keep = slices.IndexFunc(lives, func(l session.Live) bool { return l.Mark.Run == r.Run.ID })
		}
		if keep < 0 && len(lives) == 1 && (j.belongs(lives[0], r, w) || mayBe(lives[0], r)) {
			keep = 0
		}
		if keep < 0 && len(lives) > 1 && (r != nil || w != nil) {
			j.ambiguous[a] = lives
			continue
		}
		for i, l := range lives {
			if i == keep {
				j.lives[a] = &lives[i]
			} else {
				j.orphans = append(j.orphans, l)
			}
		}
	}
}

// belongs reports whether the only live object of an address is the session, though its run
// is not the recorded one, as after a lost state. At one that is stopped or done it is a leftover.
func (j *join) belongs(l session.Live, r *session.Record, w *session.Spec) bool {
	if r == nil {
		return w != nil && !j.in.ByHand
	}
	return l.Mark.ID == r.ID && (Desired(*r) != session.Stopped && r.Finished == nil || r.Intent != session.Settled)
}

// mayBe reports whether a live object is the session, of which is not known which run it has or whether that ended.
func mayBe(l session.Live, r *session.Record) bool {
	return r != nil && l.Mark.ID == r.ID && l.Mark.Run == "" && l.Liveness == session.Unknown
}

// sortLives puts the object at the recorded place first: a mark can be copied.
func sortLives(lives []session.Live, r *session.Record) {
	recorded := func(l session.Live) bool { return r != nil && l.Location == r.Location }
	slices.SortFunc(lives, func(a, b session.Live) int {
		switch {
		case recorded(a) != recorded(b) && recorded(a):
			return -1
		case recorded(a) != recorded(b):
			return 1
		}
		return cmp.Compare(fmt.Sprint(a.Location, a.Mark.Run), fmt.Sprint(b.Location, b.Mark.Run))
	})
}

func (j *join) base(a session.Address, r Reason) Change {
	return Change{Address: a, Action: None, Reason: r, Before: j.records[a], After: j.wanted[a], Live: j.lives[a], Moved: j.moved[a]}
}

// known reports whether a session at t or below it is wanted or recorded.
func (j *join) known(t session.Address) bool {
	return slices.ContainsFunc(j.addresses, func(a session.Address) bool { return a.Within(t) })
}

func (j *join) needs(a session.Address) []session.Address {
	if w := j.wanted[a]; w != nil {
		return w.DependsOn
	}
	return nil
}

func (j *join) unreachable(w session.Spec) bool {
	err, asked := j.in.World.Runtimes[w.Runtime.Engine()]
	return err != nil || !asked
}

// agentRuns reports whether the recorded agent's process runs, wherever it is.
func (j *join) agentRuns(r *session.Record) bool {
	return r != nil && j.in.World.Runs[r.Run.ID].Alive
}

func (j *join) doing(a session.Address) (session.Doing, bool) {
	d, known := j.in.Doing[a]
	r := j.records[a]
	return d, known && r != nil && r.Run.ID == d.Run
}

func (j *join) exit(c Change) *session.Exit {
	if c.Live != nil && c.Live.Mark.Run == c.Before.Run.ID {
		return c.Live.Exit
	}
	return j.in.World.Runs[c.Before.Run.ID].Exit
}

// taken returns the live object that has a session's outside name. Next to another project's
// session, another name is used.
func (j *join) taken(a session.Address) (session.Live, bool) {
	l, ok := j.foreign[a.OutsideName(j.in.Project)]
	return l, ok && (l.Mark.Project == "" || l.Spec != nil)
}

func (j *join) ambiguity(a session.Address) (session.Diagnostic, bool) {
	lives, ok := j.ambiguous[a]
	detail := "none of them is the recorded run, so it is not clear which one to keep:"
	for _, l := range lives {
		detail += fmt.Sprintf("\n  %s, run %s", where(l.Location), l.Mark.Run)
	}
	return problem(a, ReasonAmbiguous, "two running sessions have this address", detail+"\nstop the one that is not needed and plan again"), ok
}

func where(p session.Location) string {
	t := p.Traits()
	if t.Server == "" {
		return t.Noun + " " + p.Name
	}
	return t.Noun + " " + p.Name + " on " + p.Socket
}

func fixable(fix session.Remedy, r Reason, summary, detail string) session.Diagnostic {
	d := problem(fix.Address, r, summary, detail)
	d.Remedy = fix
	return d
}

func problem(a session.Address, r Reason, summary, detail string) session.Diagnostic {
	return session.Diagnostic{Code: string(r), Severity: session.Error, Summary: summary, Detail: detail, Address: a}
}
