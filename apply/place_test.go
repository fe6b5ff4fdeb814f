package apply_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// placing is a runtime that makes the places of sessions before there are agents.
type placing struct {
	*sessiontest.Scripted
	made  []session.Launch
	did   []string
	fails error
}

func (p *placing) MakePlace(_ context.Context, l session.Launch) (session.Location, error) {
	p.did = append(p.did, "place")
	p.made = append(p.made, l)
	return session.Location{Runtime: "scripted", Name: l.Name}, p.fails
}

func (p *placing) Create(ctx context.Context, l session.Launch) (session.Location, error) {
	p.did = append(p.did, "create")
	return p.Scripted.Create(ctx, l)
}

func (p *placing) Remove(ctx context.Context, at session.Location) error {
	p.did = append(p.did, "remove "+at.Name)
	return p.Scripted.Remove(ctx, at)
}

// cluster is a runtime that holds workspaces, and runs no command for one.
type cluster struct {
	*placing
	session.WorkspaceHolder
	session.Container
}

func (cluster) Check(context.Context, session.Spec, []string) error { return nil }

func (cluster) Workspaces(context.Context) ([]session.Checkout, error) { return nil, nil }

// TestPlaceFirst checks that a workspace is prepared in the place of the session, whose record
// is written before, and that the place is removed unless an agent was started in it.
func TestPlaceFirst(t *testing.T) {
	refused := errors.New("no room")
	for name, c := range map[string]struct {
		change func(*fixture, *session.Spec)
		place  error
		want   []string
		err    error
		fails  bool
	}{
		"all goes well":      {want: []string{"place", "create"}},
		"no place":           {place: refused, want: []string{"place"}, err: refused, fails: true},
		"the name is taken":  {place: session.ErrExists, want: []string{"place", "create"}},
		"an empty directory": {change: func(_ *fixture, s *session.Spec) { s.Workspace.Mode, s.Branch = session.Plain, "" }, want: []string{"create"}},
		"an empty directory with setup": {change: func(_ *fixture, s *session.Spec) {
			s.Workspace.Mode, s.Branch, s.Workspace.Setup = session.Plain, "", []string{"true"}
		}, want: []string{"place", "create"}},
		"the setup fails":      {change: func(_ *fixture, s *session.Spec) { s.Workspace.Setup = []string{"false"} }, want: []string{"place", "remove shop-api-5e897c"}, fails: true},
		"the workspace is bad": {change: func(r *fixture, s *session.Spec) { r.git.fails[s.Branch] = refused }, want: []string{"place", "remove shop-api-5e897c"}, fails: true},
		"the agent cannot start": {change: func(r *fixture, _ *session.Spec) {
			r.rt.Script(r.place("api"), sessiontest.Step{Exit: &session.Exit{Cause: "failed_start", Detail: "no such file"}})
		}, want: []string{"place", "create", "remove shop-api-5e897c"}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newFixture(t)
			rt := &placing{Scripted: r.rt, fails: c.place}
			r.applier.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return rt, nil }
			s := r.spec("api")
			if c.change != nil {
				c.change(r, &s)
			}
			_, err := r.run(r.one(plan.Create, s))
			if c.fails != (err != nil) || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("the apply ended with %v", err)
			}
			if !slices.Equal(rt.did, c.want) {
				t.Errorf("it did %q, want %q", rt.did, c.want)
			}
			rec := r.store.State().Sessions[0]
			for _, l := range rt.made {
				if l.Mark.Run != rec.Run.ID || l.Mark.ID != rec.ID || l.Name != r.place("api") || l.Dir != s.Workspace.Path || l.Mark.Hash != s.Hash() {
					t.Errorf("the place was made for %+v, want that of %+v", l.Mark, rec.Run)
				}
			}
		})
	}
}

// away is a runtime elsewhere that has the workspace of one session and is asked about it in
// vain.
type away struct {
	cluster
	path  string
	fails error
}

func (a away) Workspaces(context.Context) ([]session.Checkout, error) {
	return []session.Checkout{{Path: a.path, Exists: true}}, nil
}

func (a away) RunIn(context.Context, session.Record, io.Reader, io.Writer, ...string) error {
	return a.fails
}

func (away) WorkspaceName(string) string { return "volume v" }

// TestDeleteWaitsForItsRuntime checks that a session stays on record while nothing is known of
// its workspace, and that a workspace which cannot be checked for good is kept and named.
func TestDeleteWaitsForItsRuntime(t *testing.T) {
	r := newFixture(t)
	s := r.spec("api")
	s.Workspace.OnDestroy = session.RemoveClean
	r.must(r.create(s))
	rec := r.record("api")
	rec.Spec.Runtime, rec.Tree.Mode = session.RuntimeSpec{Kind: "kubernetes", Name: "far", Kubernetes: &session.KubernetesConfig{}}, session.Clone
	if err := r.store.Put(rec); err != nil {
		t.Fatal(err)
	}
	rt := away{cluster: cluster{placing: &placing{Scripted: r.rt}}, path: rec.Tree.Path, fails: session.Unreachable(errors.New("no route to host"))}
	r.applier.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return rt, nil }
	if _, err := r.run(r.removal("api")); !errors.Is(err, session.ErrUnreachable) || !strings.Contains(err.Error(), "no route to host") {
		t.Fatalf("the first apply ended with %v", err)
	}
	if rec := r.record("api"); rec.Intent != session.Removing || rec.LastError == "" || len(r.eventsOf(history.WorkKept)) > 0 {
		t.Fatalf("%+v is on record", rec)
	}
	rt.fails = errors.New("exit status 128: broken repository")
	r.must(r.removal("api"))
	if e := r.event(history.WorkKept, "api"); r.recorded("api") || !strings.Contains(e.Detail, "volume v") || !strings.Contains(e.Detail, "broken repository") {
		t.Errorf("on record: %v; said %q", r.recorded("api"), e.Detail)
	}
}

// unused is a runtime elsewhere whose volume for a workspace has never held anything.
type unused struct {
	away
	removed *[]string
}

func (u unused) Workspaces(context.Context) ([]session.Checkout, error) {
	return []session.Checkout{{Path: u.path}}, nil
}

func (u unused) RemoveWorkspace(_ context.Context, path string) error {
	*u.removed = append(*u.removed, path)
	return nil
}

// TestDeleteRemovesUnusedVolume checks that a volume which has never held anything is removed with
// its session, without a command at it, also if workspaces are kept.
func TestDeleteRemovesUnusedVolume(t *testing.T) {
	for _, onDestroy := range []string{session.RemoveClean, session.Keep} {
		r := newFixture(t)
		s := r.spec("api")
		s.Workspace.OnDestroy = onDestroy
		r.must(r.create(s))
		rec := r.record("api")
		rec.Spec.Runtime, rec.Tree.Mode = session.RuntimeSpec{Kind: "kubernetes", Name: "far", Kubernetes: &session.KubernetesConfig{}}, session.Clone
		if err := r.store.Put(rec); err != nil {
			t.Fatal(err)
		}
		var removed []string
		rt := unused{away{cluster: cluster{placing: &placing{Scripted: r.rt}}, path: rec.Tree.Path, fails: errors.New("no place for its pod")}, &removed}
		r.applier.Runtime = func(session.RuntimeSpec) (session.Runtime, error) { return rt, nil }
		r.must(r.removal("api"))
		if r.recorded("api") || len(removed) != 1 || removed[0] != rec.Tree.Path || len(r.eventsOf(history.WorkKept)) > 0 {
			t.Errorf("%s: on record: %v; removed %v, kept %v", onDestroy, r.recorded("api"), removed, r.eventsOf(history.WorkKept))
		}
	}
}
