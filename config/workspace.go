package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

func workspace(d reader, m *Manifest, b *expr.Block, s *session.Spec) {
	w := b.Block("workspace")
	s.Workspace = session.Workspace{Mode: session.Worktree, OnDestroy: session.Keep}
	ws := &s.Workspace
	if s.Runtime.Traits().OwnHome {
		ws.Mode = session.Clone
	}
	d.OneOf(w, "mode", &ws.Mode)
	d.OneOf(w, "on_destroy", &ws.OnDestroy)
	d.Flag(w, "trust_git", &ws.TrustGit)
	d.Command(w, "setup", &ws.Setup)
	if d.Word(w, "base", &ws.Base) && strings.HasPrefix(ws.Base, "-") {
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
		gitWorkspace(d, b, w, s)
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
	for _, name := range []string{"repo", "base", "trust_git"} {
		if a := w.Attr(name); a != nil && !d.Missing(w, name) {
			d.Fail(a, "Setting without git", "A workspace of mode \"plain\" has no git, so %q has no meaning.", name)
		}
	}
}

func gitWorkspace(d reader, b, w *expr.Block, s *session.Spec) {
	if d.Missing(b, "branch") {
		d.FailAt(b.Def, "Missing branch", "A session needs a branch of its own: branch = \"agents/%s\". For a directory without git use workspace { mode = \"plain\" }.", session.Slug(b.Labels[0]))
	}
	var given string
	if !d.Word(w, "repo", &given) {
		if w.Attr("repo") != nil && !d.Missing(w, "repo") {
			return // invalid, which was reported
		}
		if s.Workspace.Repo = d.l.Repository(d.l.Module); s.Workspace.Repo == "" {
			reportNoRepository(d.l, b)
		}
		return
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
		ws.Path = filepath.Join(m.DataDir, "workspaces", WorkspaceName(s.Address), branchDirectory(cmp.Or(s.Branch, "plain")))
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
