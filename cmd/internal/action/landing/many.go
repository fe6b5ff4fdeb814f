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
	"time"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/oneoff"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/verify"
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
		l, done, err := f.landMember(ctx, m, o)
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
func (f *Fleet) landMember(ctx context.Context, m *land.Member, o Options) (*land.Lander, land.Landed, error) {
	l, err := f.Lander(ctx, m.Address)
	if err != nil {
		return nil, land.Landed{}, err
	}
	q := o.Request
	q.Tree = m.Tree
	done, err := f.Land(ctx, l, q, o.Removes)
	return l, done, err
}

// verify runs the command of a session's verify block in a result.
func (f *Fleet) verify(ctx context.Context, l *land.Lander, live *session.Live, x land.Result) error {
	if l.Record.Spec.Runtime.Traits().HostProcesses {
		return f.verifyHere(ctx, l.Record, x.Path)
	}
	return f.verifyInside(ctx, l, live, x)
}

// shownLines bounds the lines of a command's output in an error.
const shownLines = 20

// lastLines returns the last lines of a command's output.
func lastLines(output string) string {
	lines := slices.Collect(strings.Lines(output))
	return plaintext.Safe(strings.Join(lines[max(0, len(lines)-shownLines):], ""))
}

// verifyInside runs the command of a session's verify block, after the setup of its workspace, in a
// checkout of the result where its agent works, or if that does not run in a place like it, which
// has no secrets.
func (f *Fleet) verifyInside(ctx context.Context, l *land.Lander, live *session.Live, x land.Result) error {
	r := l.Record
	rt, err := f.observer.Engine.For(r.Spec)
	if err == nil {
		err = l.Bring(ctx, x)
	}
	if err != nil {
		return err
	}
	noun, limit := r.Spec.Runtime.Traits().Noun, r.Spec.Verify.Timeout.D()
	argv := verify.Fresh(x.Commit, r.Spec.Workspace.Setup, r.Spec.Verify.Command)
	f.Step(r.Address, land.Step{Detail: "run " + strings.Join(r.Spec.Verify.Command, " ") + " in the result, in its " + noun})
	v, verifies := rt.(session.Verifier)
	if !verifies || live == nil || live.Liveness != session.Alive || live.Frozen {
		return f.verifyApart(ctx, rt, r, argv, limit)
	}
	ran, err := v.Verify(ctx, live.Location, r.Run.ID, argv, limit)
	if err != nil {
		return err
	}
	if ran.Failed != "" {
		return fmt.Errorf("%s: %s\n%s\nthe whole output is in %s of its %s", strings.Join(r.Spec.Verify.Command, " "), ran.Failed, lastLines(ran.Output), ran.Log, noun)
	}
	return nil
}

// verifyApart runs a command in a container of its own like that of a session.
func (f *Fleet) verifyApart(ctx context.Context, rt session.Runtime, r session.Record, argv []string, limit time.Duration) error {
	c, ok := rt.(session.Container)
	if !ok {
		return fmt.Errorf("its %s is not running\nagentform start %s starts it", r.Spec.Runtime.Traits().Noun, target.Quoted(r.Address))
	}
	env, err := project.LaunchEnviron(f.Project, r, false)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it did not end within %s", limit))
	defer cancel()
	output, err := c.Run(ctx, r.Spec, r.Tree.Path, argv, append(env, "AGENTFORM_RUN=land"))
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(r.Spec.Verify.Command, " "), err, lastLines(output))
	}
	return nil
}

// verifyHere runs the command of a session's verify block, after the setup of its workspace, in a
// checkout of the result.
func (f *Fleet) verifyHere(ctx context.Context, r session.Record, path string) error {
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
			if rel, relErr := filepath.Rel(f.Project.Dir, name); relErr == nil && filepath.IsLocal(rel) {
				name = rel
			}
			return fmt.Errorf("%s: %w\n%s\nthe whole output is in %s", strings.Join(argv, " "), err, lastLines(oneoff.Tail(log)), name)
		}
	}
	return nil
}
