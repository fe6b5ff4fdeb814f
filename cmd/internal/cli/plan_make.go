package cli

import (
	"context"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

func makePlan(ctx context.Context, a *app, f planFlags) (x reconcile.Planned, err error) {
	var p *project.Project
	if f.Destroy {
		p, _, err = a.State()
	} else if p, err = a.Manifest(); err == nil {
		err = checkCertificates(a, p)
	}
	if err != nil {
		tellUndeclared(a)
		return x, err
	}
	if err := f.checkDetail(); err != nil {
		return x, err
	}
	start := time.Now()
	x, err = reconcile.Plan(ctx, p, f.Asked)
	a.Log.Debug("compared", "took", time.Since(start))
	return x, err
}

// checkCertificates reports what is wrong with the certificates for engines elsewhere, before
// any of them is asked.
func checkCertificates(a *app, p *project.Project) error {
	found := p.Host().Certificates(session.Error)
	if p.Problems = append(p.Problems, found...); !a.Document {
		a.Warn(found)
	}
	if session.HasErrors(found) {
		return exit.Error
	}
	return nil
}

// tellUndeclared says how many sessions the state has where there is no manifest.
func tellUndeclared(a *app) {
	p := a.Open()
	if len(p.Manifest.Files) > 0 {
		return
	}
	if s, err := state.Read(p.State); err == nil && len(s.Sessions) > 0 {
		a.Say("\nIn the state: " + plaintext.Count(len(s.Sessions), "session") + ". To declare them: agentform plan --generate-config-out=FILE")
	}
}
