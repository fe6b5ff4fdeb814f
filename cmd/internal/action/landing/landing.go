package landing

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Fleet is the sessions of a project, for landing their work.
type Fleet struct {
	Project *project.Project
	// Step is called before each step of the landing of a session.
	Step func(session.Address, land.Step)
	// Warn reports what is done and not recorded.
	Warn     func([]session.Diagnostic)
	observer *fleet.Observer
	gitLimit time.Duration // of the Lander's GitLimit
}

// Of returns the sessions of a project. step is called before each step of a session's landing, and
// warn with what is done and not recorded.
func Of(p *project.Project, step func(session.Address, land.Step), warn func([]session.Diagnostic)) *Fleet {
	return &Fleet{Project: p, Step: step, Warn: warn, observer: project.Fleet(p)}
}

// Look observes the sessions.
func (f *Fleet) Look(ctx context.Context) (*fleet.Snapshot, error) { return f.observer.Look(ctx) }

// Close closes what looks have opened. A program that exits after the landing need not call it.
func (f *Fleet) Close() { f.observer.Engine.Close() }

// Lander observes the sessions, and returns the Lander of one.
func (f *Fleet) Lander(ctx context.Context, a session.Address) (*land.Lander, error) {
	seen, err := f.Look(ctx)
	if err != nil {
		return nil, err
	}
	return f.LanderOf(seen, a)
}

// LanderOf returns the Lander of a session in an observation.
func (f *Fleet) LanderOf(seen *fleet.Snapshot, a session.Address) (*land.Lander, error) {
	k := seen.Of(a)
	switch {
	case k.Record == nil:
		return nil, fmt.Errorf("%s was just removed from the state", a)
	case k.Record.Unmade():
		return nil, fmt.Errorf("%s has no workspace yet: its start waits\nagentform status %s shows why", a, target.Quoted(a))
	case k.Record.Tree.Mode == session.Plain || k.Record.Tree.Mode == "":
		return nil, fmt.Errorf("%s works in a directory without git, so it has no branch", a)
	case k.Diagnosis.State == session.StateUnknown:
		return nil, project.ErrUnknown(f.Project, *k.Record, k.Diagnosis)
	}
	r := *k.Record
	if err := project.UseLocalRepo(f.Project, &r); err != nil {
		return nil, err
	}
	l := &land.Lander{
		Record: r, Ref: Ref(a, r.Tree.Branch), Dir: filepath.Join(f.Project.Manifest.DataDir, "land"),
		Environ: f.Project.Environ, LockWait: f.Project.LockTimeout, GitLimit: f.gitLimit,
		Sessions: func(path string) (session.Address, session.Activity) {
			for _, other := range seen.Known {
				if other.Record != nil && other.Record.Tree.Path == path && other.Look != nil {
					return other.Record.Address, other.Look.Activity
				}
			}
			return "", ""
		},
	}
	l.Now = func(ctx context.Context) (session.Activity, error) {
		seen, err := f.Look(ctx)
		if err != nil {
			return "", err
		}
		return doing(seen.Of(a)), nil
	}
	l.Verify = func(ctx context.Context, x land.Result) error { return f.verify(ctx, l, k.Live, x) }
	if l.Doing = doing(k); l.Doing != "" {
		l.Asks, l.Answers = k.Look.Detection.Detail, k.Look.Detection.Question != nil
	}
	if r.Tree.Mode == session.Clone && !r.Spec.Runtime.Traits().HostGit {
		return l, f.reachClone(l)
	}
	l.Shell = git.ShellHere
	return l, nil
}

// doing returns what the agent of a session does; empty: it does not run.
func doing(k status.Input) session.Activity {
	if k.Look == nil || k.Diagnosis.Alive == nil || !*k.Diagnosis.Alive {
		return ""
	}
	return k.Look.Activity
}

// reachClone makes git run at a clone whose agent is not trusted on this machine.
func (f *Fleet) reachClone(l *land.Lander) error {
	r := l.Record
	rt, err := f.observer.Engine.For(r.Spec)
	if err != nil {
		return err
	}
	c, ok := rt.(session.Container)
	if !ok {
		return fmt.Errorf("%s: its runtime cannot run git in its workspace", r.Address)
	}
	l.Shell = git.FileShell(r.Tree.Path, func(ctx context.Context, argv []string) (string, error) {
		return c.Run(ctx, r.Spec, r.Tree.Path, argv, nil)
	})
	if h, ok := rt.(session.WorkspaceHolder); ok && !r.Spec.Runtime.Traits().HostFiles {
		v := git.VolumeOf(h, r)
		l.Volume, l.Shell = &v, v.Run
		l.Held = func(ctx context.Context) (bool, error) {
			all, err := h.Workspaces(ctx)
			return slices.ContainsFunc(all, func(co session.Checkout) bool { return co.Path == r.Tree.Path }), err
		}
	}
	l.Elsewhere = func(ctx context.Context, args ...string) (string, error) {
		return c.Run(ctx, r.Spec, r.Tree.Path, append([]string{"git"}, git.ArgsElsewhere(args...)...), []string{"LC_ALL=C"})
	}
	return nil
}

// Ref returns the ref of the work fetched from a session.
func Ref(a session.Address, branch string) string {
	return git.TakenRef(config.WorkspaceName(a), branch)
}

// Decide returns the facts of a session, and the steps to land its work.
func Decide(ctx context.Context, l *land.Lander, q land.Request) (f land.Facts, steps []land.Step, err error) {
	if f, err = l.Look(ctx, q); err != nil {
		return f, nil, err
	}
	steps, err = land.Decide(f, q)
	return f, steps, err
}

// WouldBe returns the result of landing now.
func WouldBe(f land.Facts, steps []land.Step, m land.Method) land.Landed {
	return land.Landed{Address: f.Address, Branch: f.Branch, Commit: f.Commit, Base: f.Base, Method: m, Already: len(steps) == 0,
		Commits: len(f.Commits), From: f.BaseTip, To: f.BaseTip, Steps: steps}
}

// Land lands work as q has it, and records that, also what was done before an error. With asked, work
// that the base already has counts as landed.
func (f *Fleet) Land(ctx context.Context, l *land.Lander, q land.Request, asked bool) (land.Landed, error) {
	done, err := l.Land(ctx, q, func(step land.Step) { f.Step(l.Record.Address, step) })
	f.record(context.WithoutCancel(ctx), l.Record, done, asked)
	return done, err
}

// record records a landing in the state and in the session's history. With asked, work that the
// base already has counts as well.
func (f *Fleet) record(ctx context.Context, r session.Record, d land.Landed, asked bool) {
	if d.Done && (d.Worked || asked) && (r.Landed == nil || r.Landed.Into != d.Base || r.Landed.From != d.Commit) {
		l := session.Landed{Into: d.Base, Commit: d.In, From: d.Commit, At: time.Now().UTC(), Unverified: d.Unverified}
		if err := engine.RecordLanding(ctx, f.Project.Reconciler(project.ToAct), r, l); err != nil {
			f.Warn([]session.Diagnostic{{Severity: session.Warning, Address: r.Address, Summary: "it has landed, and that is not recorded",
				Detail: err.Error() + "\nagentform land " + target.Quoted(r.Address) + " records it"}})
		}
	}
	if (!d.Done || d.Already) && d.Remote == "" {
		return
	}
	e := history.Event{Kind: history.Landed, Old: d.Commit, New: d.To, Reason: string(d.Method), Detail: fmt.Sprintf("%s on %s (%s)", d.Branch, d.Base, d.Method)}
	if d.Remote != "" {
		e.New, e.Detail = "", fmt.Sprintf("%s pushed to %s", d.Branch, d.Remote)
	}
	if d.Unverified {
		e.Detail += ", not verified"
	}
	f.note(r, e)
}

// note appends an event to the history of a session.
func (f *Fleet) note(r session.Record, e history.Event) {
	e.Time, e.Address, e.ID, e.Run, e.By = time.Now(), r.Address, r.ID, r.Run.ID, f.Project.Who().User
	if err := history.Append(f.Project.SessionDir(r), e); err != nil {
		f.Project.Log.Warn("it is done, but the history cannot be written", "what", e.Kind, "session", r.Address, "error", err)
	}
}
