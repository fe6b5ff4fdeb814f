package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
)

// workspace works out where a session works.
func (l *loader) workspace(d decoder, m *Manifest, b *block, s *session.Spec) {
	w := b.block("workspace")
	s.Workspace = session.Workspace{Mode: session.Worktree, OnDestroy: session.Keep}
	ws := &s.Workspace
	d.oneOf(w, "mode", &ws.Mode, session.Worktree, session.Clone, session.InPlace, session.Plain)
	if ws.Mode == session.Clone {
		l.notYet(w.at("mode"), "workspace.mode clone")
	}
	d.oneOf(w, "on_destroy", &ws.OnDestroy, session.Keep, session.RemoveClean)
	d.flag(w, "trust_git", &ws.TrustGit)
	d.command(w, "setup", &ws.Setup)
	if d.word(w, "base", &ws.Base) && strings.HasPrefix(ws.Base, "-") {
		d.fail(w.attr("base"), "Invalid base", "%q starts with a dash, which no branch, tag or commit does.", ws.Base)
	}
	if ws.Mode == session.Plain {
		l.plainWorkspace(d, b, w, s)
	} else {
		l.gitWorkspace(d, b, w, s)
	}
	l.workspacePath(d, m, w, s)
}

// plainWorkspace refuses what has no meaning without git.
func (l *loader) plainWorkspace(d decoder, b, w *block, s *session.Spec) {
	if s.Branch != "" {
		d.fail(b.attr("branch"), "Branch without git", "A workspace of mode \"plain\" is a folder without git, so its session has no branch. Leave out branch, or the mode.")
	}
	for _, name := range []string{"repo", "base", "trust_git"} {
		if a := w.attr(name); a != nil && !d.missing(w, name) {
			d.fail(a, "Setting without git", "A workspace of mode \"plain\" is a folder without git, so %q has no meaning in it.", name)
		}
	}
}

// gitWorkspace finds the repository and asks for a branch.
func (l *loader) gitWorkspace(d decoder, b, w *block, s *session.Spec) {
	if d.missing(b, "branch") {
		d.failAt(b.def, "Missing branch", "A session works on a branch of its own: branch = \"agents/%s\". For a folder without git write workspace { mode = \"plain\" }.", session.Slug(b.labels[0]))
	}
	var given string
	if !d.word(w, "repo", &given) {
		if w.attr("repo") != nil && !d.missing(w, "repo") {
			return // its problem is told
		}
		if s.Workspace.Repo = l.repository(l.module); s.Workspace.Repo == "" {
			l.noRepository(b)
		}
		return
	}
	path, err := l.resolve(given, l.module)
	if err != nil {
		d.fail(w.attr("repo"), "Invalid path", "\"repo\": %s.", err)
		return
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		d.fail(w.attr("repo"), "No such folder", "There is no folder %s.", path)
		return
	}
	if s.Workspace.Repo = l.repository(path); s.Workspace.Repo == "" {
		d.fail(w.attr("repo"), "Not a git repository", "%s is not in a git repository. Run `git init` there, or name another folder.", path)
	}
}

// noRepository tells, once, that the project is not in git.
func (l *loader) noRepository(b *block) {
	if l.gitless {
		return
	}
	l.gitless = true
	l.fail(b.def, "Not a git repository", "Sessions work in git, and neither %s nor a folder above it is a git repository. Run `git init` there, or name another repository with workspace { repo = … }; a folder without git is workspace { mode = \"plain\" }.", l.module)
}

// workspacePath is the workspace's folder: the repository itself, the one given,
// or one of its own below the data folder.
func (l *loader) workspacePath(d decoder, m *Manifest, w *block, s *session.Spec) {
	ws := &s.Workspace
	var given string
	explicit := d.word(w, "path", &given)
	switch {
	case ws.Mode == session.InPlace:
		ws.Path = ws.Repo
		if explicit {
			d.fail(w.attr("path"), "Path of an in-place session", "A workspace of mode \"in_place\" is the repository's own checkout, so it cannot have another path; name the repository with repo.")
		}
	case explicit:
		ws.Explicit = true
		ws.Path = d.path(w, "path", given, "")
		if ws.Mode == session.Worktree && ws.Path == ws.Repo && ws.Path != "" {
			d.fail(w.attr("path"), "Invalid path", "%s is the repository itself; to work in it write mode = \"in_place\".", ws.Path)
		}
	default:
		branch := "plain"
		if s.Branch != "" {
			branch = branchFolder(s.Branch)
		}
		ws.Path = filepath.Join(m.DataDir, "workspaces", folderName(s.Address), branch)
	}
}

// branchFolder is a branch's name as a folder: agents-api for agents/api. Where
// the slug loses more than the slashes, six hex digits of the name's sha256
// follow, because each branch gets a folder of its own.
func branchFolder(branch string) string {
	slug := session.Slug(branch)
	if slug == strings.ReplaceAll(branch, "/", "-") {
		return slug
	}
	sum := sha256.Sum256([]byte(branch))
	return slug + "-" + hex.EncodeToString(sum[:3])
}

// folderName is the tail of an outside name, which is one of its own for every
// address.
func folderName(a session.Address) string {
	return strings.TrimPrefix(a.OutsideName("x"), "x-")
}

// repository is the top of the git repository that holds a folder, or "". A .git
// that is a file, as in a worktree or a submodule, counts.
func (l *loader) repository(dir string) string {
	if top, ok := l.repos[dir]; ok {
		return top
	}
	top := ""
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		top = dir
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			top = real
		}
	} else if parent := filepath.Dir(dir); parent != dir {
		top = l.repository(parent)
	}
	l.repos[dir] = top
	return top
}

// commonDir is the git folder that all worktrees of a repository share: two
// checkouts with one common folder share their branches.
func commonDir(top string) string {
	git := filepath.Join(top, ".git")
	text, err := readFile(git)
	if err != nil {
		return git // a folder
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return git
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	common, err := readFile(filepath.Join(dir, "commondir"))
	if err != nil {
		return filepath.Clean(dir)
	}
	if c := strings.TrimSpace(string(common)); filepath.IsAbs(c) {
		return filepath.Clean(c)
	}
	return filepath.Join(dir, strings.TrimSpace(string(common)))
}

// collisions tells of sessions that would get into each other's way.
func (l *loader) collisions(all []*built) {
	common := map[string]string{}
	paths := newClaims()
	branches := newClaims()
	for _, s := range all {
		ws := s.spec.Workspace
		if !s.ok {
			continue
		}
		if ws.Mode != session.InPlace {
			paths.add(ws.Path, s)
		}
		if ws.Mode == session.Plain {
			continue
		}
		if _, known := common[ws.Repo]; !known {
			common[ws.Repo] = commonDir(ws.Repo)
		}
		if ws.Mode == session.InPlace {
			paths.add(ws.Path, s)
		}
		branches.add(common[ws.Repo]+"\x00"+s.spec.Branch, s)
	}
	for _, list := range paths.shared() {
		l.onePath(list)
	}
	for _, list := range branches.shared() {
		l.oneBranch(list)
	}
	l.nestedBranches(branches, common)
}

// claims is who wants what.
type claims struct {
	order []string
	by    map[string][]*built
}

func newClaims() *claims { return &claims{by: map[string][]*built{}} }

func (c *claims) add(what string, s *built) {
	if c.by[what] == nil {
		c.order = append(c.order, what)
	}
	c.by[what] = append(c.by[what], s)
}

// shared are the claims of more than one session.
func (c *claims) shared() [][]*built {
	var out [][]*built
	for _, what := range c.order {
		if list := c.by[what]; len(list) > 1 {
			out = append(out, list)
		}
	}
	return out
}

// onePath judges the sessions of one workspace path. Only in-place sessions on
// one branch may share theirs.
func (l *loader) onePath(list []*built) {
	first := list[0].spec
	for _, s := range list[1:] {
		switch {
		case s.spec.Workspace.Mode != session.InPlace || first.Workspace.Mode != session.InPlace:
			l.clash(list, "workspace", "path", "Workspace used twice", fmt.Sprintf("%s would work in one folder, %s. Give each a path of its own, or leave path out.", everyone(list), first.Workspace.Path))
			return
		case s.spec.Branch != first.Branch:
			l.clash(list, "", "branch", "Two branches in one checkout", fmt.Sprintf("%s and %s work in place in %s, which can be on one branch at a time, but declare %q and %q. Use workspace { mode = \"worktree\" }.", first.Address, s.spec.Address, first.Workspace.Path, first.Branch, s.spec.Branch))
			return
		}
	}
}

// oneBranch judges the sessions of one branch in one repository: git lets one
// checkout have it.
func (l *loader) oneBranch(list []*built) {
	for _, s := range list[1:] {
		if s.spec.Workspace.Path == list[0].spec.Workspace.Path {
			continue // in place together, or told already
		}
		hint := ""
		if _, keyed := s.spec.Address.Key(); keyed && s.spec.Address.Block() == list[0].spec.Address.Block() {
			hint = " Sessions of one block tell themselves apart by each.key, or count.index: put it into the branch."
		}
		l.clash(list, "", "branch", "Branch used twice", fmt.Sprintf("%s declare the branch %q of one repository, and git lets only one checkout have it.%s", everyone(list), s.spec.Branch, hint))
		return
	}
}

// nestedBranches tells of branches like a and a/b, of which git can have one.
func (l *loader) nestedBranches(c *claims, common map[string]string) {
	for _, what := range c.order {
		s := c.by[what][0]
		for i, r := range s.spec.Branch {
			if r != '/' {
				continue
			}
			if outer := c.by[common[s.spec.Workspace.Repo]+"\x00"+s.spec.Branch[:i]]; outer != nil {
				l.clash([]*built{outer[0], s}, "", "branch", "Branches in each other's way", fmt.Sprintf("%s declares the branch %q and %s the branch %q of one repository; git cannot have both, since one is the other's folder.", outer[0].spec.Address, outer[0].spec.Branch, s.spec.Address, s.spec.Branch))
			}
		}
	}
}

// clash reports what several sessions do to each other, at the place of the
// second.
func (l *loader) clash(list []*built, nested, name, summary, detail string) {
	where := func(b *block) hcl.Range {
		if inner := b.block(nested); inner != nil {
			return inner.at(name)
		}
		return b.at(name)
	}
	if list[0].block != list[1].block {
		detail += fmt.Sprintf(" The first stands at %s.", place(where(list[0].block)))
	}
	l.fail(where(list[1].block), summary, "%s", detail)
	l.diags[len(l.diags)-1].Extra = note{address: list[1].spec.Address}
}

// everyone names sessions for a message, at most three.
func everyone(list []*built) string {
	var names []string
	for _, s := range list {
		names = append(names, string(s.spec.Address))
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
