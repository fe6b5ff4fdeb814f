package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/internal/fileid"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
	"github.com/hashicorp/hcl/v2"
)

func checkCollisions(l *loader, all []*built) {
	common := map[string]string{} // by repository
	paths, branches := map[string][]*built{}, map[string][]*built{}
	var order []string // of the branches
	for _, s := range all {
		ws := s.spec.Workspace
		if !s.ok {
			continue
		}
		paths[directoryOf(s.spec)] = append(paths[directoryOf(s.spec)], s)
		if ws.Mode == session.Plain || ws.Mode == session.Clone {
			continue // a clone has branches of its own
		}
		if _, known := common[ws.Repo]; !known {
			common[ws.Repo] = commonDir(ws.Repo)
		}
		key := common[ws.Repo] + "\x00" + s.spec.Branch
		if branches[key] == nil {
			order = append(order, key)
		}
		branches[key] = append(branches[key], s)
	}
	for _, s := range all {
		if list := paths[directoryOf(s.spec)]; len(list) > 1 && list[0] == s {
			checkPath(l, list)
		}
	}
	for _, key := range order {
		checkBranch(l, branches[key])
	}
	for _, key := range order {
		s := branches[key][0]
		for i, r := range s.spec.Branch {
			if outer := branches[common[s.spec.Workspace.Repo]+"\x00"+s.spec.Branch[:i]]; r == '/' && outer != nil {
				clash(l, []*built{outer[0], s}, "", "branch", "Conflicting branches", fmt.Sprintf("%s declares the branch %q and %s the branch %q of one repository. git cannot have both, since one name is a directory of the other.", outer[0].spec.Address, outer[0].spec.Branch, s.spec.Address, s.spec.Branch))
			}
		}
	}
}

// directoryOf returns what two sessions that would work in one directory have in common. Links
// and bind mounts lead to the same one.
func directoryOf(s session.Spec) string {
	if s.Runtime.Traits().HostFiles {
		if place := fileid.Place(s.Workspace.Path); place != "" {
			return place
		}
	}
	if s.Workspace.Explicit {
		return fileid.Resolve(s.Workspace.Path)
	}
	return s.Workspace.Path
}

// checkPath allows only in-place sessions on one branch to share a directory.
func checkPath(l *loader, list []*built) {
	first := list[0].spec
	for _, s := range list[1:] {
		switch {
		case s.spec.Workspace.Mode != session.InPlace || first.Workspace.Mode != session.InPlace:
			clash(l, list, "workspace", "path", "Workspace used twice", fmt.Sprintf("%s would work in the same directory, %s. Give each its own path, or omit path.", everyone(list), first.Workspace.Path))
			return
		case s.spec.Branch != first.Branch:
			clash(l, list, "", "branch", "Two branches in one checkout", fmt.Sprintf("%s and %s work in place in %s, which has one branch at a time, but declare %q and %q. Use workspace { mode = \"worktree\" }.", first.Address, s.spec.Address, first.Workspace.Path, first.Branch, s.spec.Branch))
			return
		}
	}
}

func checkBranch(l *loader, list []*built) {
	for _, s := range list[1:] {
		if s.spec.Workspace.Path == list[0].spec.Workspace.Path {
			continue // in place together, or already reported
		}
		hint := ""
		if _, keyed := s.spec.Address.Key(); keyed && s.spec.Address.Block() == list[0].spec.Address.Block() {
			hint = " Put each.key or count.index into the branch to get one for each session of the block."
		}
		clash(l, list, "", "branch", "Branch used twice", fmt.Sprintf("%s declare the branch %q of the same repository, but only one checkout can have it.%s", everyone(list), s.spec.Branch, hint))
		return
	}
}

func clash(l *loader, list []*built, nested, name, summary, detail string) {
	where := func(b *expr.Block) hcl.Range {
		if inner := b.Block(nested); inner != nil {
			return inner.At(name)
		}
		return b.At(name)
	}
	if list[0].block != list[1].block {
		detail += fmt.Sprintf(" The first is at %s.", expr.Place(where(list[0].block)))
	}
	l.FailFor(string(list[1].spec.Address), where(list[1].block), summary, "%s", detail)
}

func everyone(list []*built) string {
	var names []string
	for _, s := range list {
		names = append(names, string(s.spec.Address))
	}
	if len(names) > 3 {
		names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return plaintext.List(names, "and")
}

// commonDir returns the git directory that all worktrees of a repository share.
func commonDir(top string) string {
	under := func(dir, path string) string {
		if filepath.IsAbs(path) {
			return filepath.Clean(path)
		}
		return filepath.Join(dir, path)
	}
	git := filepath.Join(top, ".git")
	text, _ := expr.ReadFile(git) // of a worktree
	dir, linked := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !linked {
		return git
	}
	dir = under(top, dir)
	common, _ := expr.ReadFile(filepath.Join(dir, "commondir"))
	return under(dir, strings.TrimSpace(string(common)))
}
