package landing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/server"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// lander lands and refreshes work for the hub's API, as agentform land --keep and refresh do: one
// request at a time, except dry runs.
type lander struct {
	project *project.Project
	open    func() (state.State, error)
	warn    func([]session.Diagnostic)
	one     chan struct{} // has a value while a request is carried out
	opening sync.Mutex    // open is called by one request at a time
}

// ForAPI returns the Lander for the API of a project's hub. open reads the state, and warn is
// called with what is done and not recorded.
func ForAPI(p *project.Project, open func() (state.State, error), warn func([]session.Diagnostic)) server.Lander {
	return &lander{project: p, open: open, warn: warn, one: make(chan struct{}, 1)}
}

// begin reads the state, and waits for its turn unless it is a dry run: a hook or a verification may take
// long. end closes the fleet, and ends the turn.
func (x *lander) begin(ctx context.Context, dryRun bool) (f *Fleet, s state.State, end func(), err error) {
	leave := func() {}
	if !dryRun {
		select {
		case x.one <- struct{}{}:
		case <-ctx.Done():
			return nil, s, nil, context.Cause(ctx)
		}
		leave = func() { <-x.one }
	}
	x.opening.Lock()
	s, err = x.open()
	x.opening.Unlock()
	if err != nil {
		leave()
		return nil, s, nil, err
	}
	f = Of(x.project, func(session.Address, land.Step) {}, x.warn)
	f.gitLimit = hookLimit
	return f, s, func() { f.Close(); leave() }, nil
}

// hookLimit bounds a command of git for a request, and its hooks: others wait for that, and nobody
// sees it hang. Hooks that run tests end within minutes.
const hookLimit = 15 * time.Minute

// beginOf is begin for the work of one session.
func (x *lander) beginOf(ctx context.Context, address session.Address, dryRun bool) (f *Fleet, l *land.Lander, end func(), err error) {
	if f, _, end, err = x.begin(ctx, dryRun); err != nil {
		return nil, nil, nil, err
	}
	if l, err = f.Lander(ctx, address); err != nil {
		end()
		return nil, nil, nil, &land.Refusal{Why: err.Error()}
	}
	return f, l, end, nil
}

// Land implements server.Lander.
func (x *lander) Land(ctx context.Context, address session.Address, o api.LandOptions) (d api.LandDocument, err error) {
	f, l, end, err := x.beginOf(ctx, address, o.DryRun)
	if err != nil {
		return d, err
	}
	defer end()
	q := land.Request{Method: methodOf(o.Method), Commit: strings.TrimSpace(o.Commit), Message: o.Message, Into: o.Into, Verify: true, Unverified: o.Unverified}
	var red error // of the verification
	verify := l.Verify
	l.Verify = func(ctx context.Context, x land.Result) error {
		red = verify(ctx, x)
		return red
	}
	var done land.Landed
	if o.DryRun {
		facts, steps, decided := Decide(ctx, l, q)
		done, err = WouldBe(facts, steps, q.Method), decided
	} else {
		done, err = f.Land(ctx, l, q, false)
	}
	if red != nil && ctx.Err() == nil {
		err = &land.Refusal{Why: err.Error()}
	}
	if err != nil {
		return d, fmt.Errorf("land %s: %w", address, err)
	}
	return status.LandOf(done, o.DryRun), nil
}

// Refresh implements server.Lander.
func (x *lander) Refresh(ctx context.Context, address session.Address, o api.RefreshOptions) (d api.RefreshDocument, err error) {
	f, l, end, err := x.beginOf(ctx, address, o.DryRun)
	if err != nil {
		return d, err
	}
	defer end()
	done, err := f.Refresh(ctx, l, o.DryRun)
	if err == nil {
		if r := done.Refusal(); r != nil {
			err = r
		}
	}
	if err != nil {
		return d, fmt.Errorf("refresh %s: %w", address, err)
	}
	return status.RefreshesOf([]land.RefreshResult{{Refreshed: done}}, o.DryRun), nil
}

// Foresee implements server.Lander.
func (x *lander) Foresee(ctx context.Context, o api.LandingOptions) (d api.LandingDocument, err error) {
	f, _, end, err := x.begin(ctx, true)
	if err != nil {
		return d, err
	}
	defer end()
	want := manyOf(o)
	want.DryRun = true
	all, err := f.Foresee(ctx, want)
	return status.LandingOf(land.Many{Members: all}, true), err
}

// LandAll implements server.Lander.
func (x *lander) LandAll(ctx context.Context, o api.LandingOptions) (d api.LandingDocument, err error) {
	f, s, end, err := x.begin(ctx, false)
	if err != nil {
		return d, err
	}
	defer end()
	want := manyOf(o)
	all, err := f.Foresee(ctx, want)
	if err != nil {
		return d, err
	}
	if r := land.CheckShown(all, want.Shown); r != nil {
		return d, r
	}
	many := f.LandAll(ctx, s.Sessions, all, want, func(*land.Lander, land.Landed) error { return nil })
	if r := (*land.Refusal)(nil); len(many.Landed) == 0 && errors.As(many.Failed, &r) {
		return d, r
	}
	return status.LandingOf(many, false), nil
}

// manyOf returns the options of landings by the API, which require each session's verification.
func manyOf(o api.LandingOptions) Options {
	want := Options{Request: land.Request{Method: methodOf(o.Method), Verify: true}, Verified: o.Verified}
	for _, step := range o.Steps {
		want.Shown = append(want.Shown, land.Shown(step))
	}
	return want
}

func methodOf(name string) land.Method { return cmp.Or(land.Method(name), land.Merge) }
