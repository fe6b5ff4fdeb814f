package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func newQuarantine(t *testing.T, repo string) *Quarantine {
	t.Helper()
	q, err := OpenQuarantine(repo, filepath.Join(filepath.Dir(repo), "quarantine"))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// side makes a branch of main with a commit that gives a file a text.
func side(t *testing.T, repo, name, file, text string) string {
	t.Helper()
	git(t, repo, "checkout", "-q", "-b", name, "main")
	write(t, filepath.Join(repo, file), text)
	commit(t, repo, name)
	return git(t, repo, "rev-parse", "HEAD")
}

// A pair that git cannot merge costs no other pair its result.
func TestCompare(t *testing.T) {
	repo := newRepo(t)
	a, b, c := side(t, repo, "a", "new", "a\n"), side(t, repo, "b", "new", "b\n"), side(t, repo, "c", "other", "c\n")
	git(t, repo, "checkout", "-q", "--orphan", "apart")
	commit(t, repo, "apart")
	apart := git(t, repo, "rev-parse", "HEAD")
	q := newQuarantine(t, repo)
	before := git(t, repo, "count-objects")
	all, err := q.Compare(t.Context(), [][2]string{{a, b}, {a, apart}, {apart, b}, {a, c}, {strings.Repeat("1", 40), c}, {b, a}})
	if err != nil || len(all) != 6 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	if after := git(t, repo, "count-objects"); after != before {
		t.Errorf("the repository has %s, before %s", after, before)
	}
	for i, want := range []string{"[new]", "", "", "[]", "", "[new]"} {
		got := ""
		if all[i] != nil {
			got = fmt.Sprint(all[i].Conflicts)
		}
		if got != want {
			t.Errorf("pair %d: %q, want %q", i, got, want)
		}
	}
	git(t, repo, "checkout", "-q", "a")
	git(t, repo, "merge", "-q", "c")
	if want := git(t, repo, "rev-parse", "HEAD^{tree}"); all[3].Tree != want {
		t.Errorf("foreseen tree %s, merged tree %s", all[3].Tree, want)
	}
	if left, err := os.ReadDir(q.dir); err != nil || len(left) != 1 {
		t.Errorf("the quarantine kept merges: %v, %v", left, err)
	}
}

func TestSnapshot(t *testing.T) {
	repo := newRepo(t)
	path := tree(t, repo)
	q := newQuarantine(t, repo)
	files := func() string {
		t.Helper()
		head, commit, err := q.Snapshot(t.Context(), path, true)
		if err != nil || head != git(t, path, "rev-parse", "HEAD") {
			t.Fatal(head, err)
		}
		if commit == head {
			return "HEAD"
		}
		if !q.Has(commit) {
			t.Error("the quarantine does not have it")
		}
		if _, again, err := q.Snapshot(t.Context(), path, true); again != commit {
			t.Errorf("the same files are another commit, %v", err)
		}
		out, err := q.run(t.Context(), repo, "", []string{"diff-tree", "-r", "--name-status", head, commit})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out), " ")
	}
	check := func(why, want string) {
		t.Helper()
		if got := files(); got != want {
			t.Errorf("%s: %s, want %s", why, got, want)
		}
	}
	check("nothing has changed", "HEAD")
	write(t, filepath.Join(path, "a.txt"), "two\n") // as long as before, in the same moment
	check("an edit that keeps the size", "M a.txt")
	write(t, filepath.Join(path, "dir", "-x y"), "1\n")
	write(t, filepath.Join(path, "large"), strings.Repeat("x", largestUntracked+1))
	write(t, filepath.Join(path, "ignored"), "1\n")
	git(t, path, "init", "-q", "inner")
	write(t, filepath.Join(path, "inner", "x"), "1\n")
	check("untracked files", "M a.txt A dir/-x y")
	git(t, path, "add", "large")
	check("a large file that is staged", "M a.txt A dir/-x y A large")
	if err := os.Remove(filepath.Join(path, "a.txt")); err != nil {
		t.Fatal(err)
	}
	check("a file that is gone", "D a.txt A dir/-x y A large")
	if staged := git(t, path, "diff", "--cached", "--name-only"); staged != "large" {
		t.Errorf("staged: %s", staged)
	}
}

// A quarantine does not grow without end.
func TestQuarantineBeginsAgain(t *testing.T) {
	repo := newRepo(t)
	q := newQuarantine(t, repo)
	for i := range looseLimit/256 + 1 {
		write(t, filepath.Join(q.dir, "17", fmt.Sprintf("%038d", i)), "")
	}
	newQuarantine(t, repo)
	left, err := os.ReadDir(q.dir)
	if err != nil || !slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() == "info" }) || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}
