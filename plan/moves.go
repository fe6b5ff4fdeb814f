package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentform/agentform/session"
)

// applyMoves returns the records by address after the moves, and the recorded
// address of each moved one.
func applyMoves(recorded []session.Record, moves []Move) (records map[session.Address]*session.Record, moved map[session.Address]session.Address, problems []session.Diagnostic) {
	records, moved = make(map[session.Address]*session.Record, len(recorded)), map[session.Address]session.Address{}
	for i := range recorded {
		records[recorded[i].Address] = &recorded[i]
	}
	for _, m := range moves {
		from := make([]session.Address, 0, 1)
		_, one := m.To.Key() // an instance has no instances
		for a := range records {
			if a == m.From || !one && a.Within(m.From) {
				from = append(from, a)
			}
		}
		slices.SortFunc(from, session.Address.Compare)
		for _, a := range from {
			to := m.To + session.Address(strings.TrimPrefix(string(a), string(m.From)))
			if records[to] != nil {
				problems = append(problems, fixable(session.Remedy{Code: session.RemedyForgetRecord, Address: to}, ReasonBlockedByError, "address is occupied",
					fmt.Sprintf("%s cannot move to %s: the state has another session there", a, to)))
				continue
			}
			r := *records[a]
			r.Address = to
			records[to] = &r
			delete(records, a)
			first := a
			if earlier, ok := moved[a]; ok {
				first = earlier
				delete(moved, a)
			}
			moved[to] = first
		}
	}
	return records, moved, problems
}

// WorkspacePaths returns a function that returns the directory of a declared session: the recorded
// one if a plan would keep it, else the declared one.
func WorkspacePaths(recorded []session.Record, moves []Move) func(session.Spec) string {
	records, _, _ := applyMoves(recorded, moves)
	return func(w session.Spec) string {
		if r := records[w.Address]; r != nil {
			return keepPath(r, &w, false).Workspace.Path
		}
		return w.Workspace.Path
	}
}
