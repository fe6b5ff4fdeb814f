package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
)

// checkCollisions tells of sessions that would get into each other's way.
func checkCollisions(l *loader, all []*built) {
	common := map[string]string{}
	paths := newClaims()
	branches := newClaims()
	for _, s := range all {
		ws := s.spec.Workspace
		if !s.ok {
			continue
		}
		if ws.Mode != session.InPlace {
			paths.add(folderOf(ws), s)
		}
		if ws.Mode == session.Plain || ws.Mode == session.Clone {
			continue // a clone has branches of its own
		}
		if _, known := common[ws.Repo]; !known {
			common[ws.Repo] = commonDir(ws.Repo)
		}
		if ws.Mode == session.InPlace {
			paths.add(folderOf(ws), s)
		}
		branches.add(common[ws.Repo]+"\x00"+s.spec.Branch, s)
	}
	for _, list := range paths.shared() {
		checkPath(l, list)
	}
	for _, list := range branches.shared() {
		checkBranch(l, list)
	}
	checkNestedBranches(l, branches, common)
}

// folderOf returns the folder of a workspace. Only a path that the manifest gives may
// have links.
func folderOf(ws session.Workspace) string {
	if ws.Explicit {
		return withoutLinks(ws.Path)
	}
	return ws.Path
}

// withoutLinks returns a path without links, as far as it exists: two paths of one
// folder are one workspace.
func withoutLinks(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(withoutLinks(up), filepath.Base(path))
	}
	return path
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

// checkPath judges the sessions of one workspace path. Only in-place sessions on
// one branch may share theirs.
func checkPath(l *loader, list []*built) {
	first := list[0].spec
	for _, s := range list[1:] {
		switch {
		case s.spec.Workspace.Mode != session.InPlace || first.Workspace.Mode != session.InPlace:
			clash(l, list, "workspace", "path", "Workspace used twice", fmt.Sprintf("%s would work in one folder, %s. Give each a path of its own, or leave path out.", everyone(list), first.Workspace.Path))
			return
		case s.spec.Branch != first.Branch:
			clash(l, list, "", "branch", "Two branches in one checkout", fmt.Sprintf("%s and %s work in place in %s, which can be on one branch at a time, but declare %q and %q. Use workspace { mode = \"worktree\" }.", first.Address, s.spec.Address, first.Workspace.Path, first.Branch, s.spec.Branch))
			return
		}
	}
}

// checkBranch judges the sessions of one branch in one repository: git lets one
// checkout have it.
func checkBranch(l *loader, list []*built) {
	for _, s := range list[1:] {
		if s.spec.Workspace.Path == list[0].spec.Workspace.Path {
			continue // in place together, or told already
		}
		hint := ""
		if _, keyed := s.spec.Address.Key(); keyed && s.spec.Address.Block() == list[0].spec.Address.Block() {
			hint = " Sessions of one block tell themselves apart by each.key, or count.index: put it into the branch."
		}
		clash(l, list, "", "branch", "Branch used twice", fmt.Sprintf("%s declare the branch %q of one repository, and git lets only one checkout have it.%s", everyone(list), s.spec.Branch, hint))
		return
	}
}

// checkNestedBranches tells of branches like a and a/b, of which git can have one.
func checkNestedBranches(l *loader, c *claims, common map[string]string) {
	for _, what := range c.order {
		s := c.by[what][0]
		for i, r := range s.spec.Branch {
			if r != '/' {
				continue
			}
			if outer := c.by[common[s.spec.Workspace.Repo]+"\x00"+s.spec.Branch[:i]]; outer != nil {
				clash(l, []*built{outer[0], s}, "", "branch", "Branches in each other's way", fmt.Sprintf("%s declares the branch %q and %s the branch %q of one repository; git cannot have both, since one is the other's folder.", outer[0].spec.Address, outer[0].spec.Branch, s.spec.Address, s.spec.Branch))
			}
		}
	}
}

// clash reports what several sessions do to each other, at the place of the
// second.
func clash(l *loader, list []*built, nested, name, summary, detail string) {
	where := func(b *expr.Block) hcl.Range {
		if inner := b.Block(nested); inner != nil {
			return inner.At(name)
		}
		return b.At(name)
	}
	if list[0].block != list[1].block {
		detail += fmt.Sprintf(" The first stands at %s.", expr.Place(where(list[0].block)))
	}
	l.FailFor(string(list[1].spec.Address), where(list[1].block), summary, "%s", detail)
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

// commonDir is the git folder that all worktrees of a repository share: two
// checkouts with one common folder share their branches.
func commonDir(top string) string {
	git := filepath.Join(top, ".git")
	text, err := expr.ReadFile(git)
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
	common, err := expr.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil {
		return filepath.Clean(dir)
	}
	if c := strings.TrimSpace(string(common)); filepath.IsAbs(c) {
		return filepath.Clean(c)
	}
	return filepath.Join(dir, strings.TrimSpace(string(common)))
}
