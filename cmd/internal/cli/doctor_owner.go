package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// record reports on the state and on who owns its sessions.
func (x *examination) record() {
	s, err := state.Read(x.project.state)
	none := errors.Is(err, state.ErrNone)
	if none {
		err = nil
	}
	if err != nil || none {
		x.state.Lineage, _ = state.Lineage(x.project.state, x.project.manifest.OutputsDir) // without it, all that carries a mark is looked at
	}
	refused := err
	if copied := (*state.CopiedError)(nil); !errors.As(err, &copied) {
		refused = x.project.check(s)
	}
	if refused != nil {
		x.add(view.Fault, "state", refused.Error(), "")
		x.refused = true
		return
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		x.add(view.Fault, "state", err.Error(), "make it yours: sudo chown -R "+x.app.who().User+" "+x.project.manifest.DataDir)
	case err != nil:
		x.add(view.Fault, "state", err.Error(), "agentform state rebuild restores it from what the sessions left")
	case none:
		if problem, remedy := lostRecords(x.project); problem != "" {
			x.add(view.Warning, "state", problem, remedy)
			return
		}
		x.add(view.Fine, "state", "none yet: nothing is on record", "")
	default:
		x.state = s
		x.add(view.Fine, "state", fmt.Sprintf("%s on record, serial %d", counted(len(s.Sessions), "session"), s.Serial), "")
		x.elsewhere()
	}
}

// elsewhere reports the sessions that another host or user owns.
func (x *examination) elsewhere() {
	for _, r := range x.state.Sessions {
		if d := plan.Diagnose(&r, nil, session.World{Here: x.project.here()}); d.Reason == plan.ReasonElsewhere {
			x.add(view.Warning, string(r.Address), d.Detail, "")
		}
	}
}
