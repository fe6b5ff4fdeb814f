package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/oneoff"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// runLandAll lands the work of all sessions, in an order that is shown before.
func runLandAll(ctx context.Context, a *app, o landOptions) error {
	p, s, err := a.openState()
	if err != nil {
		return err
	}
	working, stop := untilInterrupted(ctx)
	defer stop()
	all, err := foreseeLanding(working, a, p, o)
	if err != nil {
		return err
	}
	refused := slices.ContainsFunc(all, func(m *land.Member) bool { return m.Refused != nil })
	if o.dryRun && a.globals.json {
		return view.LandingJSON(a.env.Stdout, all, nil, nil, true)
	}
	if !a.globals.json {
		if err := view.Landing(a.env.Stdout, a.out(), all); err != nil || o.dryRun {
			return err
		}
	}
	var done []land.Landed
	var failed error
	for _, m := range all {
		if m.Refused != nil {
			continue
		}
		var d land.Landed
		if d, failed = landMember(working, a, p, m, o); failed != nil {
			break
		}
		done = append(done, d)
	}
	refreshed := refreshDependents(working, a, p, s.Sessions, all, done)
	if a.globals.json {
		if err := view.LandingJSON(a.env.Stdout, all, done, refreshed, false); err != nil {
			return err
		}
	}
	switch left := len(land.Landing(all)) - len(done); {
	case failed != nil && working.Err() != nil && ctx.Err() == nil:
		a.say(fmt.Sprintf("Interrupted: %s not landed. Run the same command to continue.", plaintext.Count(left, "session")))
		return outcome(exitInterrupted)
	case failed != nil:
		return fmt.Errorf("%w\nlanded %d, not landed %d: run the same command again to land the rest", failed, len(done), left)
	case refused:
		return outcome(exitError)
	}
	return nil
}

// foreseeLanding returns the sessions that have work to land, in the order in which they land.
func foreseeLanding(ctx context.Context, a *app, p *project.Project, o landOptions) (all []*land.Member, err error) {
	seen, err := newObserver(a, p).observe(ctx)
	if err != nil {
		return nil, err
	}
	byRepo := map[string][]*land.Member{}
	for _, k := range seen.sessions {
		r := k.Record
		if r == nil || r.Unmade() || r.Spent() || r.Tree.Mode == session.Plain || r.Tree.Mode == "" {
			continue
		}
		m := &land.Member{Facts: land.Facts{Address: r.Address, Branch: r.Tree.Branch}, Needs: r.Spec.DependsOn, Priority: r.Spec.Priority}
		l, err := landerOf(a, p, seen, r.Address)
		if err == nil {
			m.Facts, m.Steps, err = decideLanding(ctx, l, o.Request)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil && len(m.Steps) == 0 {
			if !o.dryRun {
				err = recordKilled(ctx, a, p, l, m.Facts)
			}
			if err == nil {
				continue
			}
		}
		if m.Refused = err; o.verified && (!m.Verifies || m.Unverified) {
			continue
		}
		byRepo[r.Tree.Repo] = append(byRepo[r.Tree.Repo], m)
	}
	for _, repo := range slices.Sorted(maps.Keys(byRepo)) {
		members := byRepo[repo]
		q, err := git.OpenQuarantine(repo, conflicts.Folder(p.Manifest.DataDir, "land", repo))
		if err == nil {
			err = land.Foresee(ctx, q, o.Method, members)
		}
		if err != nil {
			return nil, fmt.Errorf("foresee what lands in %s: %w", repo, err)
		}
		all = append(all, members...)
	}
	return all, nil
}

// recordKilled records a landing that was killed after the base had moved. The ref that a landing
// sets before says that there was one.
func recordKilled(ctx context.Context, a *app, p *project.Project, l *land.Lander, f land.Facts) error {
	if was := l.Record.Landed; was != nil && was.From == f.Commit {
		return nil
	}
	marked, err := git.Tip(ctx, l.Record.Tree.Repo, l.Ref)
	if err != nil || marked != f.Commit {
		return err
	}
	done, err := l.Land(ctx, land.Request{Method: land.Merge}, func(land.Step) {})
	if err == nil && done.Already {
		recordLanding(ctx, a, p, l.Record, done, true)
	}
	return err
}

// landMember lands the work of one session as it was foreseen.
func landMember(ctx context.Context, a *app, p *project.Project, m *land.Member, o landOptions) (land.Landed, error) {
	l, err := newLander(ctx, a, p, m.Address)
	if err != nil {
		return land.Landed{}, err
	}
	l.Verify = func(ctx context.Context, path string) error { return verifyResult(ctx, a, p, l.Record, path) }
	q := o.Request
	q.Tree = m.Tree
	done, err := l.Land(ctx, q, func(step land.Step) {
		if !a.globals.json {
			_ = view.LandStep(a.env.Stderr, a.err(), m.Address, step) // only progress
		}
	})
	recordLanding(ctx, a, p, l.Record, done, o.remove)
	if err != nil {
		return done, err
	}
	if !a.globals.json {
		if err := view.Landed(a.env.Stdout, a.out(), done); err != nil {
			return done, err
		}
	}
	if !o.stop && !o.remove {
		return done, nil
	}
	after, err := cleanUp(ctx, a, p, l, done, o)
	if a.globals.json {
		return done, err
	}
	return done, errors.Join(err, view.Cleaned(a.env.Stdout, a.out(), done, after))
}

// verifyResult runs the command of a session's verify block, after the setup of its workspace, in
// a checkout of what is about to land.
func verifyResult(ctx context.Context, a *app, p *project.Project, r session.Record, path string) error {
	if !r.Spec.Runtime.Traits().HostProcesses {
		return fmt.Errorf("its %s does not see the result\nagentform refresh %s brings the base into its branch, where it is verified", r.Spec.Runtime.Traits().Noun, quoted(r.Address))
	}
	name := filepath.Join(p.SessionDir(r), "land.log")
	log, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	env, err := environOf(p, r, true)
	if err != nil {
		return err
	}
	limit := r.Spec.Verify.Timeout.D()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %s", limit))
	defer cancel()
	mark := "land-" + r.ID[max(0, len(r.ID)-50):]
	for _, argv := range [][]string{r.Spec.Workspace.Setup, r.Spec.Verify.Command} {
		if len(argv) == 0 {
			continue
		}
		if !a.globals.json {
			_ = view.LandStep(a.env.Stderr, a.err(), r.Address, land.Step{Detail: "run " + strings.Join(argv, " ") + " in the result"})
		}
		err := oneoff.Run(ctx, mark, argv, path, env, log)
		if ended := oneoff.End(mark); err == nil {
			err = ended
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w\n%s\nthe whole output is in %s", strings.Join(argv, " "), err, plaintext.Safe(lastLines(tailFlag{20}, oneoff.Tail(log))), a.short(name))
		}
	}
	return nil
}

// refreshDependents brings what has landed into the branches of the sessions that depend on it and
// have not landed, if they rest.
func refreshDependents(ctx context.Context, a *app, p *project.Project, records []session.Record, all []*land.Member, done []land.Landed) (results []view.Refreshed) {
	for _, r := range records {
		depends := slices.ContainsFunc(done, func(d land.Landed) bool { return slices.Contains(r.Spec.DependsOn, d.Address) })
		lands := slices.ContainsFunc(land.Landing(all), func(m *land.Member) bool { return m.Address == r.Address })
		if !depends || lands || r.Spent() || r.Unmade() || ctx.Err() != nil {
			continue
		}
		x := view.Refreshed{Refreshed: land.Refreshed{Address: r.Address}}
		l, err := newLander(ctx, a, p, r.Address)
		if err == nil {
			x.Refreshed, err = refreshOne(ctx, a, p, l, false)
		}
		x.Err = err
		results = append(results, x)
		switch {
		case a.globals.json:
		case err != nil:
			a.say(fmt.Sprintf("%s is not refreshed: %v", r.Address, err))
		default:
			_ = view.RefreshedLine(a.env.Stdout, a.out(), x.Refreshed, false)
		}
	}
	return results
}
