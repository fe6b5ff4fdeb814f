package plan

import (
	"fmt"

	"github.com/agentform/agentform/session"
)

// elsewhere diagnoses a session that another host, user or data directory owns. ok
// is false for any other.
func elsewhere(r session.Record, w session.World) (d Diagnosis, ok bool) {
	o, here := r.Owner, w.Here
	d = Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Reason: ReasonElsewhere}
	differs := o.Differs(here)
	if w.Shared { // else a copy of the state file would act, too
		differs = r.Differs(here)
	}
	if w.Shared && differs != session.SameOwner && differs != session.Restarted {
		d.Detail = "on " + o.Host
		if differs != session.OtherHost {
			d.Detail += ":" + o.DataDir
		}
		if differs == session.OtherDataDir && o.Replaced(here) {
			d.Detail += ", which is another directory now"
		}
		return d, true
	}
	switch differs {
	case session.OtherHost:
		d.Detail = fmt.Sprintf("started on host %s, and this is %s", o.Host, here.Host)
		d.Remedy = session.Remedy{Code: session.RemedyOtherHost, Address: r.Address, Host: o.Host}
	case session.OtherNamespace:
		d.Detail = fmt.Sprintf("started outside of this container, or inside of another one (pid namespace %s, and this is %s)", namespace(o), namespace(here))
		d.Remedy = session.Remedy{Code: session.RemedyOtherNamespace, Address: r.Address}
	case session.OtherUser:
		d.Detail = fmt.Sprintf("started by the user with uid %d, and this is uid %d", o.UID, here.UID)
		d.Remedy.Code = session.RemedyOtherUser
	case session.OtherDataDir:
		d.Detail = fmt.Sprintf("started with the data directory %s, and this is %s", o.DataDir, here.DataDir)
		d.Remedy.Code = session.RemedyMoveProject
	default:
		return Diagnosis{}, false
	}
	return d, true
}

// Elsewhere returns what to do about a session of a shared state that another machine or
// checkout has.
func Elsewhere(r session.Record, here session.Owner) session.Remedy {
	fix := session.Remedy{Code: session.RemedyOtherMachine, Address: r.Address}
	if r.Differs(here) == session.OtherDataDir && r.Owner.Replaced(here) {
		fix.Code = session.RemedyTakeOver
	}
	return fix
}

func namespace(o session.Owner) string {
	if o.PIDNamespace == "" {
		return "of the host"
	}
	return o.PIDNamespace
}
