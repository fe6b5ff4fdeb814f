package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a damaged ref held is not known, so what it belongs to is kept: whichever ref it
// is, and whichever way it is damaged.
func TestDamagedRefsKeepWorkspaces(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 40) + "\n"
	for name, text := range map[string]string{"empty": "", "all zeros": zeros, "NULs": strings.Repeat("\x00", 41)} {
		t.Run(name, func(t *testing.T) {
			repo, cloned := newClone(t, "agents/clone")
			linked := tree(t, repo)
			ref := func(store, name string) {
				t.Helper()
				write(t, filepath.Join(store, filepath.FromSlash(name)), text)
			}
			kept := func(what, path string, remove func() error) {
				t.Helper()
				if err := remove(); err == nil {
					t.Errorf("%s: the workspace was removed", what)
				}
				if _, err := os.Stat(filepath.Join(path, "a.txt")); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			removeLinked := func() error { return RemoveWorktree(t.Context(), repo, linked) }
			removeCloned := func() error { return RemoveClone(t.Context(), cloned, repo, Here(cloned)) }

			entry := Look(linked).GitDir
			ref(entry, "refs/worktree/mine")
			kept("a ref of the worktree's own", linked, removeLinked)
			if err := os.RemoveAll(filepath.Join(entry, "refs")); err != nil {
				t.Fatal(err)
			}
			for path, remove := range map[string]func() error{linked: removeLinked, cloned: removeCloned} {
				inner := filepath.Join(path, "ignored", "lib")
				git(t, filepath.Dir(repo), "clone", "-q", repo, inner)
				git(t, inner, "branch", "fix")
				ref(filepath.Join(inner, ".git"), "refs/heads/fix")
				kept("a nested repository", path, remove)
				if err := os.RemoveAll(inner); err != nil {
					t.Fatal(err)
				}
			}
			ref(filepath.Join(cloned, ".git"), "refs/heads/other")
			kept("a clone's other branch", cloned, removeCloned)
			ref(filepath.Join(repo, ".git"), "refs/heads/"+Look(linked).Branch)
			kept("the worktree's branch", linked, removeLinked)
		})
	}
}
