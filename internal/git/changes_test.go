package git

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCountChanges(t *testing.T) {
	repo := newRepo(t)
	path := tree(t, repo)
	check := func(base string, want Changes, files ...string) {
		t.Helper()
		got, names, err := countAll(t, path, Base{Name: base, Commit: base})
		slices.Sort(names)
		if err != nil || got != want || len(files) > 0 && !slices.Equal(names, files) {
			t.Errorf("since %q: %+v of %q, %v, want %+v of %q", base, got, names, err, want, files)
		}
	}
	before, _, err := countAll(t, path, Base{Commit: "main"})
	if err != nil || before.Ahead != 1 {
		t.Fatalf("%+v, %v", before, err)
	}
	check("HEAD", Changes{})
	write(t, filepath.Join(path, "a.txt"), "changed\nand more\n")
	write(t, filepath.Join(path, "new", "x"), "")
	write(t, filepath.Join(path, "new", "y ü\n.txt"), "")
	write(t, filepath.Join(path, "ignored"), "")
	check("HEAD", Changes{Added: 2, Removed: 1, Untracked: 2}, "a.txt", "new/x", "new/y ü\n.txt")
	write(t, filepath.Join(repo, "theirs"), "what others do on base does not count\n")
	commit(t, repo, "base moves")
	check("main", Changes{Added: before.Added + 2, Removed: before.Removed + 1, Untracked: 2, Ahead: 1, Behind: 1})
	git(t, path, "stash", "-u")
	git(t, path, "merge", "-q", "main")
	check("main", Changes{Added: before.Added, Removed: before.Removed, Ahead: 2})
	git(t, path, "reset", "-q", "--hard", "main")
	check("main", Changes{})
	if _, _, err := CountChanges(t.Context(), Here(path), Base{Commit: "nope"}); err == nil {
		t.Error("lines since what does not exist: no error")
	}
	if _, _, err := (Base{Commit: "nope"}).Apart(t.Context(), Here(path)); err == nil {
		t.Error("commits since what does not exist: no error")
	}
}

// TestBaseSince takes the last commit of the branch before a time, and the base itself if it has none, or
// if that was brought by a merge later.
func TestBaseSince(t *testing.T) {
	repo := newRepo(t)
	path := folder(t)
	git(t, repo, "worktree", "add", "-q", "-b", "work", path)
	hour := func(n int) time.Time { return time.Date(2026, 11, 29, n, 0, 0, 0, time.UTC) }
	at := func(n int, dir string, args ...string) string {
		t.Helper()
		c := exec.Command("git", args...)
		c.Dir, c.Env = dir, append(environ(), "GIT_EDITOR=true", "GIT_COMMITTER_DATE="+hour(n).Format(time.RFC3339))
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return git(t, dir, "rev-parse", "HEAD")
	}
	first := at(8, path, "commit", "-q", "--allow-empty", "-m", "first")
	at(9, repo, "commit", "-q", "--allow-empty", "-m", "theirs")
	merge := at(11, path, "merge", "-q", "--no-ff", "main")
	for n, want := range map[int]string{7: "main", 8: first, 10: first, 11: merge, 12: merge} {
		got, err := (Base{Name: "main", Commit: "main"}).Since(t.Context(), Here(path), hour(n))
		if err != nil || got.Commit != want {
			t.Errorf("since %d:00: %+v, %v; want %s", n, got, err, want)
		}
	}
	if got, err := (Base{Commit: "HEAD"}).Since(t.Context(), Here(path), hour(10)); err != nil || got.Commit != first || got.Name != first[:7] {
		t.Errorf("without a base: %+v, %v; want %s", got, err, first)
	}
}

// countAll counts the changes of a checkout and its commits.
func countAll(t *testing.T, path string, base Base) (c Changes, files []string, err error) {
	t.Helper()
	ahead, behind, err := base.Apart(t.Context(), Here(path))
	if err != nil {
		t.Fatal(err)
	}
	c, files, err = CountChanges(t.Context(), Here(path), base)
	c.Ahead, c.Behind = ahead, behind
	return c, files, err
}

// Commits that were fetched of the base count as well, once, whether or not it has them.
func TestBehindWhatWasFetched(t *testing.T) {
	repo := newRepo(t)
	path := tree(t, repo)
	check := func(why string, ahead, behind int) {
		t.Helper()
		of, err := BasesOf(repo)
		if err != nil {
			t.Fatal(err)
		}
		for _, declared := range []string{"", "main"} {
			base := of.Base("agents/x", declared)
			a, b, err := base.Apart(t.Context(), Here(path))
			if err != nil || a != ahead || b != behind {
				t.Errorf("%s (declared %q): %d ahead, %d behind, %v, want %d and %d", why, declared, a, b, err, ahead, behind)
			}
			if n, err := base.Behind(t.Context(), Here(repo), git(t, path, "rev-parse", "HEAD")); err != nil || n != behind {
				t.Errorf("%s (declared %q): by its commit %d behind, %v, want %d", why, declared, n, err, behind)
			}
		}
	}
	git(t, path, "reset", "-q", "--hard", "main")
	check("nothing was fetched", 0, 0)
	write(t, filepath.Join(path, "mine"), "1\n")
	commit(t, path, "mine")
	start := git(t, repo, "rev-parse", "main")
	for _, name := range []string{"theirs", "more"} {
		write(t, filepath.Join(repo, name), "1\n")
		commit(t, repo, name)
	}
	git(t, repo, "update-ref", "refs/remotes/origin/main", "main")
	check("the base has what was fetched", 1, 2)
	git(t, repo, "reset", "-q", "--hard", start)
	check("the base has not been pulled", 1, 2)
	git(t, repo, "pack-refs", "--all")
	check("its refs are packed", 1, 2)
	write(t, filepath.Join(repo, "landed"), "1\n")
	commit(t, repo, "landed here")
	check("both have moved", 1, 3)
	git(t, path, "merge", "-q", "origin/main", "main")
	check("it has both, and the base lacks what was fetched", 4, 0)
}

func TestBase(t *testing.T) {
	repo := newRepo(t)
	base := func(branch, declared string) string {
		t.Helper()
		of, err := BasesOf(repo)
		if err != nil {
			t.Fatal(err)
		}
		return of.Base(branch, declared).Name
	}
	check := func(why, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
	}
	check("what the repository has checked out", base("agents/x", ""), "main")
	check("declared", base("agents/x", "v1"), "v1")
	check("in place, on the only branch", base("main", ""), "")
	git(t, repo, "switch", "-q", "-c", "feature")
	check("switched", base("agents/x", ""), "feature")
	check("in place", base("feature", ""), "main")
	git(t, repo, "update-ref", "refs/remotes/origin/trunk", "HEAD")
	git(t, repo, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
	check("the remote's default", base("feature", ""), "origin/trunk")
	git(t, repo, "pack-refs", "--all")
	check("packed", base("feature", ""), "origin/trunk")
	git(t, repo, "switch", "-q", "--detach")
	check("detached", base("agents/x", ""), "origin/trunk")
	if _, err := BasesOf(t.TempDir()); err == nil {
		t.Error("a directory without git has bases")
	}
}

// A clone is compared with where it left the base, also if its branch was there before.
func TestBaseInClone(t *testing.T) {
	repo := newRepo(t)
	start := git(t, repo, "rev-parse", "HEAD")
	git(t, repo, "switch", "-q", "-c", "agents/x")
	write(t, filepath.Join(repo, "old"), "work\n")
	commit(t, repo, "earlier work")
	git(t, repo, "switch", "-q", "main")
	path := filepath.Join(t.TempDir(), "clone")
	if _, err := AddClone(t.Context(), repo, path, "agents/x", "", nil); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(repo, "theirs"), "x\n")
	commit(t, repo, "base moves")
	of, err := BasesOf(repo)
	if err != nil {
		t.Fatal(err)
	}
	b, err := of.Base("agents/x", "").InClone(t.Context(), repo, path, "agents/x")
	if err != nil || b.Name != "main" || b.Commit != strings.TrimSpace(start) {
		t.Errorf("%+v, %v, want main at %s", b, err, start)
	}
	if n, _, err := countAll(t, path, b); err != nil || n != (Changes{Added: 1, Ahead: 1}) {
		t.Errorf("%+v, %v", n, err)
	}
	if err := os.Remove(filepath.Join(path, ".git", "refs", "remotes", "origin", "agents", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := of.Base("agents/x", "").InClone(t.Context(), repo, path, "agents/x"); err == nil {
		t.Error("a clone that lost its start: no error")
	}
}

// What a view shows is all that differs, and the index of the checkout stays as it is.
func TestView(t *testing.T) {
	repo := newRepo(t)
	path := tree(t, repo)
	base := Base{Name: "main", Commit: "main"}
	git(t, path, "reset", "-q", "--hard", "main")
	write(t, filepath.Join(path, "staged"), "1\n2\n")
	git(t, path, "add", "staged")
	write(t, filepath.Join(path, "*[x]"), "1\n")
	write(t, filepath.Join(path, "bin"), "\x00\x01")
	git(t, path, "init", "-q", filepath.Join(path, "inner"))
	git(t, path, "mv", "a.txt", "b.txt")
	before := git(t, path, "status", "--porcelain")
	v, err := NewView(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(t.Context(), v.Run, base, v.Untracked, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []DiffFile{
		{Path: "*[x]", Change: "untracked", Added: 1},
		{Path: "b.txt", OldPath: "a.txt", Change: "renamed"},
		{Path: "bin", Change: "untracked", Added: -1, Removed: -1},
		{Path: "staged", Change: "added", Added: 2},
		{Path: "inner/", Change: "untracked", Added: -1, Removed: -1},
	}
	if !reflect.DeepEqual(files, want) {
		t.Errorf("%+v\nwant %+v", files, want)
	}
	if only, err := Files(t.Context(), v.Run, base, nil, []string{"staged"}); err != nil || len(only) != 1 {
		t.Errorf("of one path: %+v, %v", only, err)
	}
	c := v.Command(t.Context(), append(os.Environ(), "GIT_DIR=/nowhere"), append([]string{"diff", "--name-only"}, base.Args()...)...)
	if out, err := c.Output(); err != nil || !strings.Contains(string(out), "staged") || !strings.Contains(string(out), "[x]") {
		t.Errorf("%s, %v", out, err)
	}
	index := v.index
	if err := v.Close(); err != nil || !gone(filepath.Dir(index)) {
		t.Errorf("the copy of the index stays: %v", err)
	}
	if after := git(t, path, "status", "--porcelain"); after != before {
		t.Errorf("the checkout has changed: %s, was %s", after, before)
	}
	if at, err := base.MergeBase(t.Context(), Here(path)); err != nil || at != strings.TrimSpace(git(t, repo, "rev-parse", "main")) {
		t.Errorf("merge base %s, %v", at, err)
	}
	git(t, path, "checkout", "-q", "-f", "--orphan", "alone")
	git(t, path, "commit", "-q", "--allow-empty", "-m", "no common ground")
	if _, err := base.MergeBase(t.Context(), Here(path)); err == nil || !strings.Contains(err.Error(), "no commit in common with main") {
		t.Errorf("unrelated: %v", err)
	}
}

// An agent at work removes untracked files at any time.
func TestViewOfRemovedFiles(t *testing.T) {
	repo := newRepo(t)
	for _, format := range []string{"sha1", "sha256"} {
		path := filepath.Join(t.TempDir(), format)
		git(t, repo, "init", "-q", "-b", "main", "--object-format="+format, path)
		git(t, path, "commit", "-q", "--allow-empty", "-m", "start")
		write(t, filepath.Join(path, "stays"), "1\n")
		v := &View{path: path, Untracked: []string{"removed", "stays"}}
		if err := v.add(t.Context()); err != nil {
			t.Fatal(err)
		}
		files, err := Files(t.Context(), v.Run, Base{Commit: "HEAD"}, v.Untracked, nil)
		if want := []DiffFile{{Path: "stays", Change: "untracked", Added: 1}}; err != nil || !reflect.DeepEqual(files, want) {
			t.Errorf("%s: %+v, %v\nwant %+v", format, files, err, want)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOutputHasALimit checks what is kept of a command of a container that may print without an end.
func TestOutputHasALimit(t *testing.T) {
	o := output(3)
	if _, err := io.Copy(o, strings.NewReader("abcd")); err == nil || o.String() != "abc" {
		t.Errorf("%q, %v", o.String(), err)
	}
}

// TestCrosswise checks that work is compared with one of its merge bases if it has several.
func TestCrosswise(t *testing.T) {
	repo := newRepo(t)
	git(t, repo, "branch", "-M", "main")
	work, on := branchOf(t, repo, "work", "b.txt", "two\n"), func(branch, merged string) {
		git(t, repo, "switch", "-q", branch)
		git(t, repo, "merge", "-q", "--no-edit", merged)
	}
	write(t, filepath.Join(repo, "c.txt"), "three\n")
	commit(t, repo, "change c.txt")
	main := git(t, repo, "rev-parse", "HEAD")
	on("main", work)
	on("work", main)
	write(t, filepath.Join(repo, "d.txt"), "four\n")
	commit(t, repo, "change d.txt")
	base := Base{Name: "main", Commit: "main"}
	if n := strings.Count(git(t, repo, "merge-base", "--all", "main", "work"), "\n") + 1; n != 2 {
		t.Fatalf("there are %d merge bases", n)
	}
	one, err := base.Single(t.Context(), Here(repo))
	if err != nil || one.Commit != work && one.Commit != main {
		t.Fatalf("%+v, %v", one, err)
	}
	names := []string{"c.txt", "d.txt"} // since its own commit; else b.txt
	if one.Commit == main {
		names[0] = "b.txt"
	}
	changed, err := base.FilesChanged(t.Context(), Here(repo), "HEAD")
	if err != nil || len(changed) != 2 || changed[0].Name != names[0] || changed[1].Name != names[1] {
		t.Errorf("%+v, %v, want %q", changed, err, names)
	}
	count, counted, err := CountChanges(t.Context(), Here(repo), base)
	if err != nil || count.Added != 2 || !slices.Equal(counted, names) {
		t.Errorf("%+v, %q, %v, want %q", count, counted, err, names)
	}
	files, err := Files(t.Context(), Here(repo), base, nil, nil)
	if err != nil || len(files) != 2 || files[0].Path != names[0] {
		t.Errorf("%+v, %v, want %q", files, err, names)
	}
}
