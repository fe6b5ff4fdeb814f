//go:build real

package torture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// before is what the state was when it was looked at last.
type before struct {
	lineage string
	serial  uint64
}

// tally is what there was, and what there must not be.
type tally struct {
	applies, destroys, hubs int // killed
	ended                   int // by themselves, before they were killed
	converged               int // applies in between that nobody disturbed

	lost, unparsable, unrecorded, doubled, stuck int
}

func (t *tally) total() int { return t.applies + t.destroys + t.hubs }

func (t *tally) add(command string) {
	switch command {
	case "apply":
		t.applies++
	case "destroy":
		t.destroys++
	case "serve":
		t.hubs++
	}
}

func (t *tally) String() string {
	return fmt.Sprintf("%d kills (%d of apply, %d of destroy, %d of the hub; %d ended first): %d states lost, %d unparsable, %d live and unrecorded, %d doubled, %d of %d applies not converged",
		t.total(), t.applies, t.destroys, t.hubs, t.ended, t.lost, t.unparsable, t.unrecorded, t.doubled, t.stuck, t.converged)
}

func sorted(s []string) []string { slices.Sort(s); return s }

// inspect looks at what a kill has left.
func (x *torture) inspect() {
	x.t.Helper()
	// What lives is listed first: it must be on record before it lives.
	agents, marks := x.processes("fakeagent"), x.marks()
	s, err := x.state()
	switch {
	case errors.Is(err, state.ErrNone) && x.last.lineage == "" && len(agents)+len(marks) == 0:
		return // the first one was killed before it had written anything
	case errors.Is(err, state.ErrNone):
		x.tally.lost++
		x.t.Fatalf("the state is lost; it was %+v", x.last)
	case err != nil:
		x.tally.unparsable++
		x.t.Fatalf("the state cannot be read: %v", err)
	case x.last.lineage != "" && s.Lineage != x.last.lineage, s.Serial < x.last.serial:
		x.tally.lost++
		x.t.Fatalf("the state was %+v and is of lineage %s and serial %d", x.last, s.Lineage, s.Serial)
	}
	x.last = before{s.Lineage, s.Serial}

	runs := map[string]bool{}
	for _, r := range s.Sessions {
		runs[r.Run.ID] = true
	}
	seen := map[string]proc.Process{}
	for _, a := range agents {
		if !runs[a.run] && a.Alive() {
			x.tally.unrecorded++
			x.t.Fatalf("agent %d of %s lives in run %s, which is not on record: %v", a.PID, a.session(), a.run, s.Sessions)
		}
		if other := seen[a.session()]; other.Alive() && a.Alive() {
			x.tally.doubled++
			x.t.Fatalf("%s has two agents: %d and %d", a.session(), other.PID, a.PID)
		}
		seen[a.session()] = a.Process
	}
	for name, mark := range marks {
		if !slices.ContainsFunc(s.Sessions, func(r session.Record) bool { return strings.Contains(mark, `"`+r.ID+`"`) }) {
			x.tally.unrecorded++
			x.t.Fatalf("tmux session %s (%s) is not on record", name, mark)
		}
	}
	if told, _ := filepath.Glob(x.lock("*.doubled")); len(told) > 0 {
		x.tally.doubled++
		text, _ := os.ReadFile(told[0])
		x.t.Fatalf("%s: %s", filepath.Base(told[0]), text)
	}
}
