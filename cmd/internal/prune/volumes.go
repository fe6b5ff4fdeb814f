package prune

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// volumeTimeout bounds the inspection of a volume, for which a cluster may have to start a pod.
const volumeTimeout = 2 * time.Minute

// held is a workspace on a volume of a runtime.
type held struct {
	in  session.WorkspaceHolder
	rec session.Record // its session as far as known, which is not in the state
}

// volumes inspects the workspaces on volumes, concurrently for each runtime, with git in the
// runtime. It also observes the running sessions there.
func (x *search) volumes(ctx context.Context) {
	used := map[string]bool{}
	runtimes := map[string]session.RuntimeSpec{}
	for _, spec := range x.Runtimes {
		runtimes[spec.Engine()] = spec
	}
	for _, r := range x.Records {
		used[r.Tree.Path] = true
		runtimes[r.Spec.Runtime.Engine()] = r.Spec.Runtime
	}
	for _, name := range slices.Sorted(maps.Keys(runtimes)) {
		if spec := runtimes[name]; !spec.Traits().HostFiles {
			if err := x.volumesOf(ctx, spec, used); err != nil {
				x.found = append(x.found, Leftover{Kind: Volume, Path: name, Action: Keep, Reason: "cannot be searched: " + err.Error()})
			}
		}
	}
}

func (x *search) volumesOf(ctx context.Context, spec session.RuntimeSpec, used map[string]bool) error {
	rt, err := x.Runtime(spec)
	if err != nil {
		return err
	}
	h, is := rt.(session.WorkspaceHolder)
	if !is {
		return nil
	}
	lives, err := rt.Observe(ctx, false)
	if err != nil {
		return err
	}
	x.lives = append(x.lives, lives...)
	if l, is := rt.(session.LeftoverLister); is {
		left, err := l.Leftovers(ctx)
		if err != nil {
			return err
		}
		for _, c := range left {
			x.found = append(x.found, Leftover{Kind: Container, Path: c.Name, Action: Keep, Reason: c.String()})
		}
	}
	all, err := h.Workspaces(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(co session.Checkout) bool { return used[co.Path] })
	found := make([]Leftover, len(all))
	var wg sync.WaitGroup
	for i, co := range all {
		l := &found[i]
		*l = Leftover{Kind: Volume, Path: h.WorkspaceName(co.Path), Action: Keep}
		if name := liveIn(lives, co.Path); name != "" {
			l.Reason = fmt.Sprintf("%s, which is not in the state, runs in it", name)
			continue
		}
		l.held = &held{h, session.Record{
			ID: session.Slug(filepath.Base(co.Path)), Spec: session.Spec{Runtime: spec, Branch: co.Branch, Workspace: session.Workspace{Mode: session.Clone, Path: co.Path, Repo: x.Repo}},
			Tree: session.WorkspaceState{Mode: session.Clone, Path: co.Path, Repo: x.Repo, Branch: co.Branch},
		}}
		if !co.Exists {
			l.Action, l.Reason = Remove, "it has never held anything"
			continue
		}
		wg.Go(func() { l.Action, l.Reason = l.held.look(ctx) })
	}
	wg.Wait()
	x.found = append(x.found, found...)
	return nil
}

// liveIn returns the name of the session whose workspace is at the path, or "".
func liveIn(lives []session.Live, path string) string {
	for _, l := range lives {
		if l.Dir == path || l.Checkout != nil && l.Checkout.Path == path || l.Spec != nil && l.Spec.Workspace.Path == path {
			return l.Location.Name
		}
	}
	return ""
}

// look decides what happens to the volume. Only commits in the project's repository are known to
// exist elsewhere, so a clone of a server's repository is kept until it was fetched.
func (h *held) look(ctx context.Context) (Action, string) {
	ctx, cancel := context.WithTimeout(ctx, volumeTimeout)
	defer cancel()
	switch {
	case h.rec.Tree.Branch == "":
		return Keep, "not in git, so unsaved work cannot be detected"
	case h.rec.Tree.Repo == "":
		return Keep, "the project has no repository to compare it with"
	}
	risk, err := git.VolumeOf(h.in, h.rec).Risk(ctx, h.rec.Tree.Repo)
	switch {
	case err != nil:
		return Keep, err.Error()
	case risk.Any():
		return Keep, fmt.Sprintf("branch %s: it holds %s", h.rec.Tree.Branch, risk)
	}
	return Remove, "branch " + h.rec.Tree.Branch + ": clean, and its commits are in " + h.rec.Tree.Repo
}

func (h *held) remove(ctx context.Context) error { return h.in.RemoveWorkspace(ctx, h.rec.Tree.Path) }
