package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
)

// Verifications returns how the command's verifications reach the sessions of a snapshot.
func Verifications(p *project.Project, o *fleet.Observer, s *fleet.Snapshot, e *engine.Engine) verify.Access {
	return verify.Access{
		Reach: verify.Reach{
			Activity: o.Activity, Folder: p.SessionDir, By: p.Who().User, Emit: func(history.Event) {}, Now: time.Now, Log: p.Log, Open: o.Open(s),
		},
		Record: func(ctx context.Context, r session.Record, v session.Verified) error {
			return engine.RecordVerified(ctx, e, r, v)
		},
	}
}

// Verify verifies the work of one session.
func Verify(ctx context.Context, p *project.Project, access verify.Access, k status.Input) (x view.Verification) {
	r := *k.Record
	x.Address = r.Address
	fail := func(err error) view.Verification {
		x.Err = OfSession(r.Address, err)
		return x
	}
	switch does := status.Of(k).Activity; {
	case !r.Spec.Verify.Declared():
		return fail(errors.New("it has no verify block"))
	case k.Diagnosis.State == session.StateUnknown:
		x.Err = project.ErrUnknown(p, r, k.Diagnosis)
		return x
	case does == session.Working || does == session.Blocked || does == session.Booting:
		return fail(fmt.Errorf("it is %s: its work is verified when its turn has ended\nagentform wait %s waits for that", does, Quoted(r.Address)))
	}
	doing := func(ctx context.Context) (session.Doing, error) {
		s, err := project.Fleet(p).Look(ctx)
		if err != nil || s.Of(r.Address).Record == nil {
			return session.Doing{}, err
		}
		return s.Of(r.Address).Doing(), nil
	}
	v, err := access.Verifier(fleet.Seen(k), doing)
	if err != nil {
		return fail(err)
	}
	now, output, err := v.Once(ctx)
	if err != nil {
		return fail(err)
	}
	r.Verified = &now
	x.Verified, x.Output = status.VerifiedOf(r), output
	return x
}

// Choose returns the named sessions whose work can be verified. Of sessions selected by flags, it
// omits those without a verify block, and returns those that are not running as resting.
func Choose(s *fleet.Snapshot, named []session.Address, byFlag bool) (all []status.Input, resting []session.Address, err error) {
	for _, address := range named {
		k := s.Of(address)
		switch {
		case k.Record == nil:
			return nil, nil, NotApplied(address)
		case byFlag && !k.Record.Spec.Verify.Declared():
		case byFlag && Rests(k.Diagnosis.State):
			resting = append(resting, address)
		default:
			all = append(all, k)
		}
	}
	return all, resting, nil
}
