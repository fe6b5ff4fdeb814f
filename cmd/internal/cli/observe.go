package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// observe observes all sessions of the project once.
func observe(ctx context.Context, a *app) (*project.Project, *fleet.Snapshot, error) {
	p, e, err := openObserver(a)
	if err != nil {
		return p, nil, err
	}
	s, err := e.Look(ctx)
	return p, s, err
}

// openObserver prints the first error of a faulty manifest: recorded sessions are shown
// without it.
func openObserver(a *app) (*project.Project, *fleet.Observer, error) {
	p, _, err := a.State()
	if err != nil {
		return p, nil, err
	}
	warnOfManifest(a, p)
	return p, project.Fleet(p), nil
}

func warnOfManifest(a *app, p *project.Project) {
	if watch.Broken(p) {
		first := slices.IndexFunc(p.Problems, func(d session.Diagnostic) bool { return d.Severity == session.Error })
		a.Warn(p.Problems[first : first+1])
		if more := len(p.Problems) - 1; more > 0 {
			a.Say(fmt.Sprintf("\nThe manifest has %s: agentform validate", plaintext.Count(more, "more problem")))
		}
	}
}

// declaredIn returns the addresses of a snapshot's sessions and of those that the manifest has.
func declaredIn(p *project.Project, s *fleet.Snapshot) []session.Address {
	return choose.Addresses(p.Manifest.Sessions, s.State.Sessions)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// openSelection returns the sessions that are meant, or all if none are named or chosen.
func openSelection(a *app, o sessionArgs) (*watch.Selection, error) {
	p, s, err := a.State()
	if err != nil {
		return nil, err
	}
	warnOfManifest(a, p)
	return watch.Select(p, s, o.Sessions)
}

// followSessions observes sessions until see is done, or it is interrupted.
func followSessions(ctx context.Context, f *watch.Selection, every, timeout time.Duration, see func(watch.Observation) (done bool, err error)) error {
	ctx, stop := streams.UntilInterrupted(ctx)
	defer stop()
	ended := false
	err := f.Follow(ctx, every, timeout, func(g watch.Observation) (bool, error) {
		done, err := see(g)
		ended = done
		return done, err
	})
	if err == nil && !ended {
		return exit.Interrupted
	}
	return err
}
