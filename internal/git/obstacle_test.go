package git

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// What a move would overwrite is named, and git moves the checkout if nothing is. Where git
// would overwrite uncommitted work, or undo it, it is named all the same.
func TestFindObstacles(t *testing.T) {
	first := newRepo(t)
	sh(t, first, "echo 1 >a; echo 1 >b; mkdir d; echo 1 >d/x; git add .; git commit -q -m base; git switch -q -c work")
	base := git(t, first, "rev-parse", "main")
	for name, x := range map[string]struct {
		landed, dirty string // what a shell does on the branch, and then in the checkout
		want          string // the files
		git           bool   // git itself would move the checkout
	}{
		"clean":                          {"echo 2 >a; echo 2 >new", ":", "", true},
		"others":                         {"echo 2 >a", "echo 3 >b; git add b; echo 4 >b; echo 5 >new; git add new; echo 6 >untracked; rm d/x", "", true},
		"changed":                        {"echo 2 >a", "echo 3 >a", "a", false},
		"staged":                         {"echo 2 >a", "echo 3 >a; git add a", "a", false},
		"staged and changed":             {"echo 2 >a", "echo 3 >a; git add a; echo 1 >a", "a", false},
		"mode":                           {"echo 2 >a", "chmod +x a", "a", false},
		"touched":                        {"echo 2 >a", "echo 1 >a", "", true},
		"changed, and removed by it":     {"git rm -q a", "echo 3 >a", "a", false},
		"removed":                        {"echo 2 >a", "rm a", "a", true},
		"removal staged":                 {"echo 2 >a", "git rm -q a", "a", false},
		"removal staged on both sides":   {"git rm -q a", "git rm -q a", "", true},
		"untracked by both, kept by one": {"git rm -q a", "git rm -q --cached a", "a", false},
		"renamed":                        {"echo 2 >a", "git mv a c", "a", false},
		"renamed onto":                   {"echo 2 >c", "git mv a c", "c", false},
		"added later":                    {"echo 2 >n", "echo 3 >n; git add -N n", "n", false},
		"in the index already":           {"echo 2 >a; echo 2 >n", "echo 2 >a; echo 2 >n; git add a n; echo 3 >a", "", true},
		"untracked":                      {"echo 2 >n", "echo 2 >n", "n", false},
		"name of many words":             {"echo 2 >' a\tb\n'", "echo 2 >' a\tb\n'", " a\tb\n", false},
		"untracked directory":            {"echo 2 >n", "mkdir n; echo 3 >n/u", "n/u", false},
		"untracked file for a directory": {"mkdir n; echo 2 >n/u", "echo 3 >n", "n", false},
		"untracked link for a directory": {"mkdir n; echo 2 >n/u", "mkdir o; ln -s o n", "n", false},
		"untracked beside what goes":     {"git rm -q d/x", "echo 3 >d/u", "", true},
		"untracked below what is a file": {"git rm -q d/x; echo 2 >d", "echo 3 >d/u", "d/u", false},
		"staged for a directory":         {"mkdir n; echo 2 >n/u", "echo 3 >n; git add n", "n", false},
		"staged below what is a file":    {"echo 2 >n", "mkdir n; echo 3 >n/u; git add n", "n/u", true},
		"removal and directory staged":   {"git rm -q a", "rm a; mkdir a; echo 3 >a/u; git add .", "a", true},
		"removal and file staged":        {"git rm -q d/x", "rm -r d; echo 3 >d; git add .", "d/x", false},
		"removal staged, and a link":     {"git rm -q d/x", "git rm -q d/x; mkdir o; ln -s o d", "d/x", false},
		"directory for a file":           {"git rm -q a", "rm a; mkdir a; echo 3 >a/u", "a", false},
		"directory for a file, changed":  {"echo 2 >a", "rm a; mkdir a; echo 3 >a/u", "a a/u", false},
		"file for a directory":           {"echo 2 >d/new", "rm -r d; echo 3 >d", "d", false},
		"link for a directory":           {"echo 2 >d/x", "mv d o; ln -s o d", "d d/x", true},
		"ignored":                        {"echo 2 >ignored; git add -f ignored", "echo 3 >ignored", "", true},
		"skip-worktree":                  {"echo 2 >a", "git update-index --skip-worktree a; echo 3 >a", "a", false},
		"assume-unchanged":               {"git rm -q a", "git update-index --assume-unchanged a; echo 3 >a", "a", false},
		"skip-worktree, mode":            {"echo 2 >a", "git update-index --skip-worktree a; chmod +x a", "a", false},
		"skip-worktree, unchanged":       {"echo 2 >a; chmod +x b", "git update-index --skip-worktree a b", "", true},
		"skip-worktree, another":         {"echo 2 >b", "git update-index --skip-worktree a; echo 3 >a", "", true},
		"sparse":                         {"echo 2 >d/x", "git sparse-checkout set --no-cone /a; mkdir -p d; echo 3 >d/x", "d/x", false},
		"sparse, another":                {"echo 2 >d/x; echo 2 >a", "git sparse-checkout set --no-cone /a /b; echo 3 >b", "", true},
		"repository":                     {"echo 2 >n", "git init -q n; echo 3 >n/u", "n/", false},
		"below a repository":             {"mkdir n; echo 2 >n/u", "git init -q n; echo 3 >n/u", "n/", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := filepath.Join(folder(t), "repo")
			if err := os.CopyFS(repo, os.DirFS(first)); err != nil {
				t.Fatal(err)
			}
			sh(t, repo, x.landed+"; git add .; git commit -q -m work; git switch -q main")
			sh(t, repo, x.dirty)
			work := git(t, repo, "rev-parse", "work")
			before := stateOf(t, repo)
			o, err := FindObstacles(t.Context(), repo, base, work+"^{tree}", nil)
			if got := strings.Join(o.Overwritten, " "); err != nil || got != x.want {
				t.Errorf("%q, %v", got, err)
			}
			if hidden := x.want != "" && strings.Contains(x.dirty, "update-index"); o.Hidden != hidden {
				t.Errorf("hidden: %v", o.Hidden)
			}
			if after := stateOf(t, repo); after != before {
				t.Errorf("a look changed it from\n%s\nto\n%s", before, after)
			}
			err = asAnn().Advance(t.Context(), repo, "main", base, work, repo)
			if (err == nil) != x.git {
				t.Errorf("git: %v", err)
			}
			if after := stateOf(t, repo); err != nil && after != before {
				t.Errorf("git refused, and changed it from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// What is under way, or has conflicts, is found whatever the move changes.
func TestFindObstaclesUnderWay(t *testing.T) {
	for dirty, want := range map[string]Obstacles{
		"git merge -q other || true":    {Busy: "merge", Unmerged: []string{"a"}},
		"git cherry-pick other || true": {Busy: "cherry-pick", Unmerged: []string{"a"}},
		"git rebase -q other || true":   {Busy: "rebase", Unmerged: []string{"a"}},
		"git bisect start -q":           {Busy: "bisect"},
		"git stash -q; git merge -q --ff-only more; git stash pop -q || true": {Unmerged: []string{"a"}},
	} {
		repo := newRepo(t)
		sh(t, repo, "echo 1 >a; git add .; git commit -q -m base; git switch -q -c other; echo 2 >a; git commit -q -a -m other")
		sh(t, repo, "git switch -q -c more main; echo 3 >a; git commit -q -a -m more; git switch -q main")
		if strings.Contains(dirty, "stash") {
			sh(t, repo, "echo 4 >a")
		} else {
			sh(t, repo, "git merge -q --ff-only more")
		}
		sh(t, repo, dirty)
		for _, to := range []string{"", "main"} {
			if got, err := FindObstacles(t.Context(), repo, "main", to, nil); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, %v", dirty, got, err)
			}
		}
	}
}

// What is committed on the branch before it lands counts as landed.
func TestFindObstaclesOfUncommitted(t *testing.T) {
	repo := newRepo(t)
	path := filepath.Join(t.TempDir(), "work")
	git(t, repo, "worktree", "add", "-q", path)
	sh(t, path, "echo 2 >a.txt; echo 2 >new; mkdir d; echo 2 >d/x; git add new")
	sh(t, repo, "echo 3 >a.txt; echo 3 >new; echo 3 >d; echo 3 >other")
	more, err := Uncommitted(t.Context(), Here(path))
	if want := []string{"a.txt", "new", "d/x"}; err != nil || !slices.Equal(more, want) {
		t.Fatalf("%q, %v", more, err)
	}
	o, err := FindObstacles(t.Context(), repo, "main", "main", append(more, "/", "//x")) // a container's git may print anything
	if want := []string{"a.txt", "d", "new"}; err != nil || !slices.Equal(o.Overwritten, want) {
		t.Errorf("%q, %v", o.Overwritten, err)
	}
}

func sh(t testing.TB, dir, script string) {
	t.Helper()
	c := exec.Command("sh", "-e", "-c", script)
	c.Dir, c.Env = dir, environ()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// stateOf returns the branch, the index and the files of a checkout.
func stateOf(t testing.TB, repo string) string {
	t.Helper()
	text := git(t, repo, "for-each-ref", "refs/heads") + fmt.Sprintf("\n%x\n", sha256.Sum256([]byte(content(t, filepath.Join(repo, ".git", "index")))))
	err := filepath.WalkDir(repo, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() == ".git" {
			return cmp.Or(err, fs.SkipDir)
		}
		fi, err := e.Info()
		text += fmt.Sprint(fi.Mode(), path)
		switch {
		case fi.Mode().IsRegular():
			text += " " + content(t, path)
		case fi.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			text += " -> " + to
		}
		text += "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
