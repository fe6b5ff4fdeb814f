package landing

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/oneoff"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// Options select which work lands, and how.
type Options struct {
	land.Request              // of each session
	Verified     bool         // only sessions with verified work
	DryRun       bool         // record nothing
	Removes      bool         // sessions are removed afterwards, so work already in a base counts as landed
	Shown        []land.Shown // the order to keep; nil: Foresee chooses one
}

// Foresee returns the sessions with work to land, in landing order.
func (f *Fleet) Foresee(ctx context.Context, o Options) (all []*land.Member, err error) {
	seen, err := f.Look(ctx)
	if err != nil {
		return nil, err
	}
	byRepo := map[string][]*land.Member{}
	for _, k := range seen.Known {
		r := k.Record
		if r == nil || !r.HasBranch() {
			continue
		}
		m := &land.Member{Facts: land.Facts{Address: r.Address, Branch: r.Tree.Branch}, Needs: r.Spec.DependsOn, Priority: r.Spec.Priority}
		l, err := f.LanderOf(seen, r.Address)
		if err == nil {
			m.Facts, m.Steps, err = Decide(ctx, l, o.Request)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil && len(m.Steps) == 0 {
			if !o.DryRun {
				err = f.recordKilled(ctx, l, m.Facts)
			}
			if err == nil {
				continue
			}
		}
		if m.Refused = err; o.Verified && (!m.Verifies || m.Unverified) {
			continue
		}
		byRepo[r.Tree.Repo] = append(byRepo[r.Tree.Repo], m)
	}
	for _, repo := range slices.Sorted(maps.Keys(byRepo)) {
		members := byRepo[repo]
		q, err := git.OpenQuarantine(repo, conflicts.Folder(f.Project.Manifest.DataDir, "land", repo))
		if err == nil {
			err = land.Foresee(ctx, q, o.Method, members, o.Shown)
		}
		if err != nil {
			return nil, fmt.Errorf("foresee what lands in %s: %w", repo, err)
		}
		all = append(all, members...)
	}
	return all, nil
}

// recordKilled records a landing that was killed after the base had moved. The ref that a landing
// sets first shows that there was one.
func (f *Fleet) recordKilled(ctx context.Context, l *land.Lander, is land.Facts) error {
	if was := l.Record.Landed; was != nil && was.From == is.Commit {
		return nil
	}
	marked, err := git.Tip(ctx, l.Record.Tree.Repo, l.Ref)
	if err != nil || marked != is.Commit {
		return err
	}
	done, err := l.Land(ctx, land.Request{Method: land.Merge}, func(land.Step) {})
	if err == nil && done.Already {
		f.record(ctx, l.Record, done, true)
	}
	return err
}

// LandAll lands the work of members as foreseen, up to the first failure. Then it refreshes the
// sessions among records that depend on landed ones and have not landed. after is called when a
// session has landed; if it returns an error, the rest does not land.
func (f *Fleet) LandAll(ctx context.Context, records []session.Record, all []*land.Member, o Options, after func(*land.Lander, land.Landed) error) land.Many {
	many := land.Many{Members: all}
	for _, m := range land.Landing(all) {
		l, err := f.Lander(ctx, m.Address)
		var done land.Landed
		if err == nil {
			done, err = f.landMember(ctx, l, m, o)
		}
		if many.Failed = err; err != nil {
			break
		}
		many.Landed = append(many.Landed, done)
		if many.Failed = after(l, done); many.Failed != nil {
			break
		}
	}
	for _, r := range records {
		depends := slices.ContainsFunc(many.Landed, func(d land.Landed) bool { return slices.Contains(r.Spec.DependsOn, d.Address) })
		lands := slices.ContainsFunc(land.Landing(all), func(m *land.Member) bool { return m.Address == r.Address })
		if !depends || lands || r.Spent() || r.Unmade() || ctx.Err() != nil {
			continue
		}
		x := land.RefreshResult{Refreshed: land.Refreshed{Address: r.Address}}
		l, err := f.Lander(ctx, r.Address)
		if err == nil {
			x.Refreshed, err = f.Refresh(ctx, l, false)
		}
		x.Err = err
		many.Refreshed = append(many.Refreshed, x)
	}
	return many
}

// landMember lands the work of one session as foreseen.
func (f *Fleet) landMember(ctx context.Context, l *land.Lander, m *land.Member, o Options) (land.Landed, error) {
	l.Verify = func(ctx context.Context, path string) error { return f.verifyResult(ctx, l.Record, path) }
	q := o.Request
	q.Tree = m.Tree
	return f.Land(ctx, l, q, o.Removes)
}

// verifyResult runs the command of a session's verify block, after the setup of its workspace, in a
// checkout of the result.
func (f *Fleet) verifyResult(ctx context.Context, r session.Record, path string) error {
	if !r.Spec.Runtime.Traits().HostProcesses {
		return fmt.Errorf("its %s does not see the result\nagentform refresh %s brings the base into its branch, where it is verified", r.Spec.Runtime.Traits().Noun, target.Quoted(r.Address))
	}
	name := filepath.Join(f.Project.SessionDir(r), "land.log")
	log, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	env, err := project.LaunchEnviron(f.Project, r, true)
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
		f.Step(r.Address, land.Step{Detail: "run " + strings.Join(argv, " ") + " in the result"})
		err := oneoff.Run(ctx, mark, argv, path, env, log)
		if ended := oneoff.End(mark); err == nil {
			err = ended
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			lines := slices.Collect(strings.Lines(oneoff.Tail(log)))
			if rel, relErr := filepath.Rel(f.Project.Dir, name); relErr == nil && filepath.IsLocal(rel) {
				name = rel
			}
			return fmt.Errorf("%s: %w\n%s\nthe whole output is in %s", strings.Join(argv, " "), err, plaintext.Safe(strings.Join(lines[max(0, len(lines)-20):], "")), name)
		}
	}
	return nil
}
