package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
)

// usualMode returns the default mode of workspaces.
func usualMode(r session.RuntimeSpec) string {
	if r.Traits().OwnHome {
		return session.Clone
	}
	return session.Worktree
}

func workspace(d reader, m *Manifest, b *expr.Block, s *session.Spec) {
	w := b.Block("workspace")
	ws := &s.Workspace
	if strings.HasPrefix(ws.Base, "-") {
		d.Fail(w.Attr("base"), "Invalid base", "%q starts with a dash, as no branch, tag or commit can.", ws.Base)
	}
	if elsewhere(d, w, s) {
		return
	}
	if s.Runtime.Kind == "docker" && !ws.TrustGit && (ws.Mode == session.Worktree || ws.Mode == session.InPlace) {
		d.FailAt(w.At("mode"), "Shared git in a container", "A workspace of mode %q shares the repository's .git with the container, and programs that an agent configures there run on this machine at the next git command. Omit the mode for a clone, or allow it with trust_git = true.", ws.Mode)
	}
	if ws.Mode == session.Plain {
		plainWorkspace(d, b, w, s)
	} else {
		gitWorkspace(d, m, b, w, s)
	}
	workspacePath(d, m, w, s)
}

// elsewhere reports a workspace that cannot be in the place of its session, which does not
// see this machine's files, and whether there is anything to report.
func elsewhere(d reader, w *expr.Block, s *session.Spec) bool {
	if s.Runtime.Traits().HostFiles {
		return false
	}
	ws := &s.Workspace
	switch {
	case ws.Mode == session.Worktree || ws.Mode == session.InPlace:
		d.FailAt(w.At("mode"), "Workspace on another machine", "A workspace of mode %q needs the files of this machine, and the engine is elsewhere. Omit the mode for a clone.", ws.Mode)
	case w.Attr("path") != nil:
		d.Fail(w.Attr("path"), "Workspace on another machine", "The engine is elsewhere, and keeps the workspace on a volume. Omit the path.")
	default:
		return false
	}
	return true
}

func plainWorkspace(d reader, b, w *expr.Block, s *session.Spec) {
	if s.Branch != "" {
		d.Fail(b.Attr("branch"), "Branch without git", "A workspace of mode \"plain\" has no git, so its session has no branch. Omit the branch or the mode.")
	}
	for _, name := range []string{"repo", "repo_secret", "base", "trust_git"} {
		if a := w.Attr(name); a != nil && !d.Missing(w, name) {
			d.Fail(a, "Setting without git", "A workspace of mode \"plain\" has no git, so %q has no meaning.", name)
		}
	}
}

// remoteRepository reads a repository on a server, which is cloned where the session is.
func remoteRepository(d reader, m *Manifest, w *expr.Block, s *session.Spec, given string) {
	ws, a := &s.Workspace, w.Attr("repo")
	u, err := url.Parse(given)
	switch {
	case strings.HasPrefix(given, "git@") || err == nil && u.Scheme == "ssh":
		d.Fail(a, "Unsupported repository", "A repository on a server is cloned by https, with a token from repo_secret. Use its https:// URL.")
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "", u.RawQuery != "", u.Fragment != "", strings.ContainsAny(given, " \t\n\"\\"):
		d.Fail(a, "Invalid repository", "\"repo\" must be a directory or an https:// URL like \"https://git.example/shop.git\".")
		d.Eval.Diags[len(d.Eval.Diags)-1].Extra = expr.Note{Secret: true} // it may hold a token
	case hasPassword(u):
		d.Fail(a, "Password in a URL", "The URL of \"repo\" has a password, which the state would store. Name a secret instead: repo_secret = \"GIT_TOKEN\".")
		d.Eval.Diags[len(d.Eval.Diags)-1].Extra = expr.Note{Secret: true}
	case s.Runtime.Traits().HostFiles:
		d.Fail(a, "Repository on a server", "The session's workspace is on this machine and is made from a repository here. Run `git clone` and set repo to the directory, or use a runtime that keeps workspaces on volumes, such as kubernetes.")
	default:
		ws.Repo = given
	}
	if !d.Word(w, "repo_secret", &ws.RepoSecret) {
		return
	}
	if !variableName(ws.RepoSecret) {
		d.Fail(w.Attr("repo_secret"), "Invalid secret", "%q is not a name of an environment variable. The secret is given by name, never by value.", "repo_secret")
		d.Eval.Diags[len(d.Eval.Diags)-1].Extra = expr.Note{Secret: true}
		return
	}
	ref := m.Secrets[ws.RepoSecret].Kubernetes
	_, listed := s.SecretRefs[ws.RepoSecret]
	switch {
	case ref == nil:
	case s.Runtime.Kind != "kubernetes":
		d.Fail(w.Attr("repo_secret"), "Secret of a cluster", "%s is in a Kubernetes cluster, and the session does not run in one. Give it env, file or command.", ws.RepoSecret)
	case listed:
		d.Fail(w.Attr("repo_secret"), "Secret used twice", "%s is mounted as a file for git, and \"secrets\" makes it a variable. Omit it there, or give the variable a secret block of its own.", ws.RepoSecret)
	default:
		refs := map[string]session.SecretRef{ws.RepoSecret: *ref}
		maps.Copy(refs, s.SecretRefs)
		s.SecretRefs = refs
	}
}

func hasPassword(u *url.URL) bool {
	_, has := u.User.Password()
	return has
}

func gitWorkspace(d reader, m *Manifest, b, w *expr.Block, s *session.Spec) {
	if d.Missing(b, "branch") {
		d.FailAt(b.Def, "Missing branch", "A session needs a branch of its own: branch = \"agents/%s\". For a directory without git use workspace { mode = \"plain\" }.", session.Slug(b.Labels[0]))
	}
	var given string
	if !d.Word(w, "repo", &given) {
		if a := w.Attr("repo_secret"); a != nil && !d.Missing(w, "repo_secret") {
			d.Fail(a, "Secret without a server", "%q is for a repo that is a URL, and the repository is the one that holds the manifest.", "repo_secret")
		}
		if w.Attr("repo") != nil && !d.Missing(w, "repo") {
			return // invalid, which was reported
		}
		if s.Workspace.Repo = d.l.Repository(d.l.Module); s.Workspace.Repo == "" {
			reportNoRepository(d.l, b)
		}
		return
	}
	if session.Remote(given) || strings.HasPrefix(given, "git@") {
		remoteRepository(d, m, w, s, given)
		return
	}
	if a := w.Attr("repo_secret"); a != nil && !d.Missing(w, "repo_secret") {
		d.Fail(a, "Secret without a server", "A repository of this machine needs no %q. It is for a repo that is a URL.", "repo_secret")
	}
	path, err := d.l.Resolve(given, d.l.Module)
	if err != nil {
		d.Fail(w.Attr("repo"), "Invalid path", "\"repo\": %s.", err)
		return
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		d.Fail(w.Attr("repo"), "No such directory", "There is no directory %s.", path)
		return
	}
	if s.Workspace.Repo = d.l.Repository(path); s.Workspace.Repo == "" {
		if dir := bareRepository(path); dir != "" {
			d.Fail(w.Attr("repo"), "Bare git repository", "%s is a bare repository, without a checkout. Use a checkout of it; git worktree add creates one.", dir)
			return
		}
		d.Fail(w.Attr("repo"), "Not a git repository", "%s is not in a git repository. Run `git init` there, or use another directory.", path)
	}
}

func reportNoRepository(l *loader, b *expr.Block) {
	if l.gitless {
		return
	}
	l.gitless = true
	if dir := bareRepository(l.Module); dir != "" {
		l.Fail(b.Def, "Bare git repository", "%s is a bare repository, without a checkout. Move the manifest into a checkout (git worktree add creates one), or set workspace { repo = … }.", dir)
		return
	}
	l.Fail(b.Def, "Not a git repository", "Sessions work in git, but %s is not in a git repository. Run `git init` there, or set workspace { repo = … }, or workspace { mode = \"plain\" } for a directory without git.", l.Module)
}

func bareRepository(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		missing := slices.ContainsFunc([]string{"HEAD", "objects", "refs"}, func(name string) bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err != nil
		})
		switch {
		case !missing:
			return dir
		case dir == filepath.Dir(dir):
			return ""
		}
	}
}

func workspacePath(d reader, m *Manifest, w *expr.Block, s *session.Spec) {
	ws := &s.Workspace
	var given string
	explicit := d.Word(w, "path", &given)
	switch {
	case ws.Mode == session.InPlace:
		ws.Path = ws.Repo
		if explicit {
			d.Fail(w.Attr("path"), "Path of an in-place session", "A workspace of mode \"in_place\" is the repository's own checkout and cannot have a path; set repo instead.")
		}
	case explicit:
		ws.Explicit = true
		ws.Path = readPath(d, w, "path", given, "")
		if (ws.Mode == session.Worktree || ws.Mode == session.Clone) && ws.Path == ws.Repo && ws.Path != "" {
			d.Fail(w.Attr("path"), "Invalid path", "%s is the repository itself; to work in it use mode = \"in_place\".", ws.Path)
		}
	default:
		ws.Path = filepath.Join(layout.Data{Dir: s.Runtime.Traits().DataDir(m.DataDir)}.Workspaces(), WorkspaceName(s.Address), branchDirectory(cmp.Or(s.Branch, "plain")))
	}
}

// branchDirectory returns agents-api for agents/api. If that loses more than slashes, digits
// of the sha256 make it unique.
func branchDirectory(branch string) string {
	slug := session.Slug(branch)
	if slug == strings.ReplaceAll(branch, "/", "-") {
		return slug
	}
	sum := sha256.Sum256([]byte(branch))
	return slug + "-" + hex.EncodeToString(sum[:3])
}

// WorkspaceName returns the directory name of a session's workspaces, which no other has.
func WorkspaceName(a session.Address) string {
	return strings.TrimPrefix(a.OutsideName("x"), "x-")
}
