package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/session"
)

// holder returns the runtime that holds the workspace of a session; nil: it is on this
// machine.
func (w *workspaces) holder(s session.Spec) (session.WorkspaceHolder, error) {
	if s.Runtime.Traits().HostFiles {
		return nil, nil
	}
	rt, err := w.runtimes.of(s)
	if err != nil {
		return nil, err
	}
	h, is := rt.(session.WorkspaceHolder)
	if !is {
		return nil, fmt.Errorf("runtime %s holds no workspaces", s.Runtime.Key())
	}
	return h, nil
}

// holderTimeout bounds a look at a runtime's workspace.
const holderTimeout = time.Minute

// checkoutOf returns the workspace of a session as it is now.
func (w *workspaces) checkoutOf(ctx context.Context, rec session.Record, t session.WorkspaceState) session.Checkout {
	h, err := w.holder(rec.Spec)
	switch {
	case err != nil:
		return session.Checkout{Path: t.Path, Err: err}
	case h == nil:
		return w.checkout(t)
	}
	ctx, cancel := context.WithTimeout(ctx, holderTimeout)
	defer cancel()
	if held, _, err := hasWorkspace(ctx, h, t.Path); err != nil || !held {
		return session.Checkout{Path: t.Path, Err: err}
	}
	rec.Tree = t
	return git.VolumeOf(h, rec).Look(ctx)
}

// tip returns the commit of a session's branch; empty: it is not known.
func (w *workspaces) tip(ctx context.Context, rec session.Record) string {
	t := rec.Tree
	if t.Branch == "" || w.config.Git.Tip == nil {
		return ""
	}
	var commit string
	h, err := w.holder(rec.Spec)
	if err == nil && h != nil {
		ctx, cancel := context.WithTimeout(ctx, holderTimeout)
		defer cancel()
		commit, err = git.VolumeOf(h, rec).Git()(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+t.Branch)
	} else if err == nil {
		commit, err = w.config.Git.Tip(t.Path, t.Branch, t.Mode == session.Clone)
	}
	if err != nil {
		return "" // that it is done does not depend on it
	}
	return strings.TrimSpace(commit)
}

// hasWorkspace reports whether a runtime has the workspace with that path, or what was to hold it
// and has never held anything.
func hasWorkspace(ctx context.Context, h session.WorkspaceHolder, path string) (held, unused bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, holderTimeout)
	defer cancel()
	all, err := h.Workspaces(ctx)
	if at := slices.IndexFunc(all, func(co session.Checkout) bool { return co.Path == path }); at >= 0 {
		held, unused = all[at].Exists, !all[at].Exists
	}
	return held, unused, err
}

// createElsewhere creates a workspace in the place of its session.
func (w *workspaces) createElsewhere(ctx context.Context, h session.WorkspaceHolder, rec session.Record) (made bool, err error) {
	t := rec.Tree
	switch {
	case t.Mode == session.Plain:
		return false, h.RunIn(ctx, rec, nil, io.Discard, "mkdir", "-p", t.Path)
	case t.Mode == session.Clone && session.Remote(t.Repo):
		from, err := w.server(ctx, rec.Spec)
		if err != nil {
			return false, err
		}
		return git.VolumeOf(h, rec).AddRemoteClone(ctx, from, t.Branch, rec.Spec.Workspace.Base)
	case t.Mode == session.Clone:
		return git.VolumeOf(h, rec).AddClone(ctx, t.Repo, t.Branch, rec.Spec.Workspace.Base)
	}
	return false, fmt.Errorf("workspace mode %q is not possible in runtime %s", t.Mode, rec.Spec.Runtime.Key())
}

// madeAtStart reports whether the start of the agent makes the workspace of a session, so that
// nothing is prepared before: an empty directory, without setup.
func madeAtStart(by any, rec session.Record) bool {
	_, makes := by.(session.PlaceMaker)
	return makes && rec.Tree.Mode == session.Plain && (rec.Tree.Ready || len(rec.Spec.Workspace.Setup) == 0)
}

// makePlace makes the place of a session in which its workspace is prepared, if its runtime
// does that. The caller removes it with unmake if no agent was started in it. Where the name
// of the place is taken, Create decides.
func (s *starter) makePlace(ctx context.Context, rec session.Record) (unmake func() error, err error) {
	nothing := func() error { return nil }
	rt, err := s.runtimes.of(rec.Spec)
	if err != nil {
		return nil, err
	}
	maker, is := rt.(session.PlaceMaker)
	if !is || madeAtStart(rt, rec) {
		return nothing, nil
	}
	at, err := maker.MakePlace(ctx, launch.Place(rec, rec.Address.OutsideName(s.config.Project), s.lineage))
	switch {
	case errors.Is(err, session.ErrExists):
		return nothing, nil
	case err != nil:
		return nil, err
	}
	return func() error {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), holderTimeout)
		defer cancel()
		return rt.Remove(undo, at)
	}, nil
}

// server returns the repository of a workspace that is on a server, with its secret, if
// agentform and not the cluster has that.
func (w *workspaces) server(ctx context.Context, spec session.Spec) (git.Server, error) {
	ws := spec.Workspace
	s := git.Server{URL: ws.Repo, Secret: ws.RepoSecret}
	if _, inCluster := spec.SecretRefs[ws.RepoSecret]; inCluster {
		s.File = session.RepoSecretFile
	} else if ws.RepoSecret != "" {
		var known bool
		if s.Password, known = w.config.Secrets(ws.RepoSecret); !known || s.Password == "" {
			return s, fmt.Errorf("secret %s, which %s asks for, is not set", ws.RepoSecret, ws.Repo)
		}
	}
	id, err := w.config.Git.Identity(ctx, w.config.DataDir)
	s.Name, s.Mail = id["GIT_AUTHOR_NAME"], id["GIT_AUTHOR_EMAIL"]
	return s, err
}

// removeElsewhere removes a workspace if nothing would be lost. The error is why it is kept.
func (w *workspaces) removeElsewhere(ctx context.Context, h session.WorkspaceHolder, rec session.Record) error {
	t, v := rec.Tree, git.VolumeOf(h, rec)
	if t.Mode == session.Clone {
		if session.Remote(t.Repo) {
			from, err := w.server(ctx, rec.Spec)
			if err != nil {
				return err
			}
			v.Server = &from
		}
		risk, err := v.Risk(ctx, t.Repo)
		if err != nil {
			return err
		}
		if risk.Any() {
			return &git.RiskError{Path: t.Path, Risk: risk}
		}
	} else if co := v.Look(ctx); co.Err != nil {
		return co.Err
	} else if co.Exists && !co.Empty { // without git, it is not known what would be lost
		return errNotEmpty
	}
	return h.RemoveWorkspace(ctx, t.Path)
}
