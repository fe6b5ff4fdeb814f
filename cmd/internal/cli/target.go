package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

func openTarget(ctx context.Context, a *app, typed string) (*target.Target, error) {
	p, s, err := a.State()
	if err != nil {
		return nil, err
	}
	address, err := choose.One(choose.Addresses(p.Manifest.Sessions, s.Sessions), typed)
	if err != nil {
		return nil, err
	}
	if project.Find(s.Sessions, address) == nil {
		return nil, target.NotApplied(address)
	}
	targets, err := target.Of(ctx, p, s.Sessions, address)
	if err != nil {
		return nil, err
	}
	return targets[0], targets[0].Fault
}

// openTargets opens the sessions of a command. Of those that flags choose, the ones that do
// not run because they were stopped, are done or were not started yet are left out, and named.
func openTargets(ctx context.Context, a *app, s *sessionArgs) ([]*target.Target, error) {
	p, st, named, err := s.open(a)
	if err != nil {
		return nil, err
	}
	targets, err := target.Of(ctx, p, st.Sessions, named...)
	if err != nil {
		return nil, err
	}
	if !s.ByFlag() {
		return targets, nil
	}
	targets, resting := target.Running(targets)
	reportLeftOut(a, resting)
	return targets, nil
}

// reportLeftOut names chosen sessions that do not run.
func reportLeftOut(a *app, resting []session.Address) {
	if len(resting) == 0 {
		return
	}
	const most = 5
	var names []string
	for _, address := range resting[:min(most, len(resting))] {
		names = append(names, string(address))
	}
	more := ""
	if n := len(resting) - most; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	fmt.Fprintf(a.Err, "Not running, left out: %s%s\n", plaintext.OneLine(strings.Join(names, ", ")), more)
}
