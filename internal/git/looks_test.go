package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/test/tick"
	"github.com/agentform/agentform/session"
)

// Whatever happens to a checkout, who looks again sees what a first look shows;
// and what nothing happens to is read no more.
func TestLooksTellWhatIsNew(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	linked, second := filepath.Join(dir, "linked"), filepath.Join(dir, "second")
	git(t, repo, "worktree", "add", "-q", "-b", "side", linked)
	git(t, repo, "worktree", "add", "-q", "-b", "aside", second)
	git(t, repo, "branch", "other")
	git(t, repo, "branch", "thirt")
	own := clone2(t, dir, repo)
	git(t, own, "branch", "third")
	plain := t.TempDir()
	none := filepath.Join(plain, "later")
	link := filepath.Join(t.TempDir(), "link")
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.Symlink(linked, link))
	var dotGit []byte
	admin := func() string { return Look(linked).GitDir }
	conflict(t, second)
	// What was seen before lasts, lasts of Look and LookClone but one (which takes no
	// worktree for a clone), or is looked at each time.
	const lasting, one, anew = 0, 1, 2
	for _, x := range []struct {
		what, path string
		reads      int // of both, when nothing has happened
		change     func()
	}{
		{"a repository: another branch", repo, lasting, func() { git(t, repo, "checkout", "-q", "other") }},
		{"a repository: and back", repo, lasting, func() { git(t, repo, "symbolic-ref", "HEAD", "refs/heads/main") }},
		{"a repository: no branch", repo, lasting, func() { git(t, repo, "checkout", "-q", "--detach") }},
		{"a repository: another commit", repo, anew, func() { git(t, repo, "checkout", "-q", "main") }},
		{"a worktree: another branch", linked, one, func() { git(t, linked, "checkout", "-q", "-b", "third") }},
		{"a worktree: HEAD by hand, its time set back", linked, one, func() {
			head := filepath.Join(admin(), "HEAD")
			fi, err := os.Stat(head)
			do(err)
			do(os.WriteFile(head, []byte("ref: refs/heads/thirt\n"), 0o600))
			do(os.Chtimes(head, fi.ModTime(), fi.ModTime()))
		}},
		{"a worktree through a link: another branch", link, lasting, func() { git(t, linked, "symbolic-ref", "HEAD", "refs/heads/third") }},
		{"a link to another", link, lasting, func() { do(os.Remove(link)); do(os.Symlink(repo, link)) }},
		{"a link to nothing", link, lasting, func() { do(os.Remove(link)); do(os.Symlink("/nowhere", link)) }},
		{"a link to something again", link, one, func() { do(os.Remove(link)); do(os.Symlink(linked, link)) }},
		{"a worktree with another's .git", linked, one, func() {
			var err error
			dotGit, err = os.ReadFile(filepath.Join(linked, ".git"))
			do(err)
			text, err := os.ReadFile(filepath.Join(second, ".git"))
			do(err)
			do(os.WriteFile(filepath.Join(linked, ".git"), text, 0o600))
		}},
		{"a worktree with its own again", linked, one, func() { do(os.WriteFile(filepath.Join(linked, ".git"), dotGit, 0o600)) }},
		{"a worktree of another repository", linked, one, func() {
			do(os.WriteFile(filepath.Join(admin(), "commondir"), []byte(filepath.Join(own, ".git")+"\n"), 0o600))
		}},
		{"a worktree whose repository goes", linked, one, func() { do(os.Rename(filepath.Join(own, ".git"), filepath.Join(own, "git"))) }},
		{"a worktree whose repository comes back", linked, anew, func() { do(os.Rename(filepath.Join(own, "git"), filepath.Join(own, ".git"))) }},
		{"a worktree of its own again", linked, one, func() { do(os.WriteFile(filepath.Join(admin(), "commondir"), []byte("../..\n"), 0o600)) }},
		{"a worktree that is being made", linked, one, func() { git(t, repo, "worktree", "lock", "--reason", "initializing", linked) }},
		{"a worktree that has been made", linked, anew, func() { git(t, repo, "worktree", "unlock", linked) }},
		{"a rebase", second, one, func() {
			if out, err := tryGit(second, "rebase", "theirs"); err == nil {
				t.Fatalf("rebase had no conflict: %s", out)
			}
		}},
		{"a rebase that is given up, HEAD as it was", second, anew, func() { git(t, second, "rebase", "--quit") }},
		{"a bisect", second, anew, func() { git(t, second, "bisect", "start") }},
		{"a worktree that is moved away", linked, one, func() { do(os.Rename(linked, linked+"2")) }},
		{"nothing: a link to nothing", linked, anew, func() { do(os.Symlink("/nowhere", linked)) }},
		{"a branch that goes", repo, lasting, func() { git(t, repo, "update-ref", "-d", "refs/heads/main") }},
		{"a branch that comes back", repo, anew, func() { git(t, repo, "update-ref", "refs/heads/main", "other") }},
		{"a branch that becomes a symbolic ref", repo, lasting, func() { git(t, repo, "symbolic-ref", "refs/heads/main", "refs/heads/thirt") }},
		{"a symbolic branch whose target goes", repo, anew, func() { git(t, repo, "update-ref", "-d", "refs/heads/thirt") }},
		{"a symbolic branch whose target comes back", repo, anew, func() { git(t, repo, "update-ref", "refs/heads/thirt", "other") }},
		{"a branch of its own again", repo, anew, func() {
			git(t, repo, "symbolic-ref", "--delete", "refs/heads/main")
			git(t, repo, "update-ref", "refs/heads/main", "other")
		}},
		{"a branch that is packed", repo, lasting, func() { git(t, repo, "pack-refs", "--all") }},
		{"a packed branch that goes", repo, lasting, func() { git(t, repo, "update-ref", "-d", "refs/heads/main") }},
		{"a packed branch that is another's folder", repo, anew, func() { git(t, repo, "update-ref", "refs/heads/main/b", "other") }},
		{"a clone: another branch", own, lasting, func() { git(t, own, "checkout", "-q", "-b", "fifth") }},
		{"a clone whose .git goes", own, lasting, func() { do(os.Rename(filepath.Join(own, ".git"), filepath.Join(own, "git"))) }},
		{"a folder: a file", plain, lasting, func() { write(t, filepath.Join(plain, "file"), "x") }},
		{"nothing: a folder", none, anew, func() { do(os.Mkdir(none, 0o700)) }},
		{"a folder: git init", none, lasting, func() { git(t, plain, "init", "-q", none) }},
		{"a folder that goes", none, lasting, func() { do(os.RemoveAll(none)) }},
	} {
		reads := 0
		looks := map[*LookCache]func(string) session.Checkout{NewLookCache(): nil, NewCloneLookCache(): nil}
		for l := range looks {
			look := l.look
			looks[l] = look
			l.look = func(path string) session.Checkout { reads++; return look(path) }
			l.now = func() time.Time { return time.Now().Add(time.Hour) } // all has settled
		}
		is := func(when string) {
			t.Helper()
			for l, look := range looks {
				if d := cmp.Diff(told(look(x.path)), told(l.Look(x.path))); d != "" {
					t.Errorf("%s, %s (-want +got):\n%s", x.what, when, d)
				}
			}
		}
		is("at first")
		is("the second time")
		reads = 0
		is("the third time")
		if reads != x.reads {
			t.Errorf("%s: nothing happened, and it was read %d times, not %d: %+v", x.what, reads, x.reads, Look(x.path))
		}
		tick.Wait(t)
		x.change()
		is("changed")
		is("changed, again")
	}
}

// What an agent does in a checkout makes nobody look again, until it commits: the
// branch's file may be damaged then.
func TestLooksReadNoMoreThanTheyMust(t *testing.T) {
	repo := newRepo(t)
	l, reads := NewLookCache(), 0
	l.look = func(path string) session.Checkout { reads++; return Look(path) }
	l.now = func() time.Time { return time.Now().Add(time.Hour) }
	for range 2 {
		l.Look(repo)
	}
	write(t, filepath.Join(repo, "new.txt"), "x")
	git(t, repo, "add", "new.txt")
	if co := l.Look(repo); reads != 2 || co.Branch != "main" {
		t.Errorf("read %d times: %+v", reads, co)
	}
	commit(t, repo, "more")
	for range 2 {
		if co := l.Look(repo); reads != 3 || co.Branch != "main" {
			t.Errorf("read %d times, of which one after a commit: %+v", reads, co)
		}
	}
	// Where something has just changed, it is read each time.
	l.now = time.Now
	git(t, repo, "checkout", "-q", "-b", "another")
	for range 3 {
		l.Look(repo)
	}
	if reads != 6 {
		t.Errorf("read %d times, of which 3 just after a change", reads)
	}
}

// Where refs are not files, git has to be asked each time.
func TestLooksAskWhereRefsAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	co := session.Checkout{Exists: true, Git: true, GitDir: dir, Branch: "main"}
	write(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/main\n")
	if !lasts(co) {
		t.Error("a branch in a file is looked at each time")
	}
	write(t, filepath.Join(dir, "HEAD"), "ref: refs/heads/.invalid\n")
	if lasts(co) {
		t.Error("a branch that is in no file is not")
	}
}

// What changes while somebody looks, after it was read, is seen the next time.
func TestLooksWhileItChanges(t *testing.T) {
	for during := range 2 { // so many looks are over
		repo := newRepo(t)
		git(t, repo, "branch", "other")
		l, looks := NewLookCache(), 0
		l.now = func() time.Time { return time.Now().Add(time.Hour) }
		l.look = func(path string) session.Checkout {
			co := Look(path)
			if looks == during {
				tick.Wait(t)
				git(t, repo, "symbolic-ref", "HEAD", "refs/heads/other")
			}
			looks++
			return co
		}
		for range during + 1 {
			l.Look(repo)
		}
		if co := l.Look(repo); co.Branch != "other" {
			t.Errorf("changed during look %d: on %q", during, co.Branch)
		}
	}
}

// told is a checkout with the words of its error, which can be compared.
func told(co session.Checkout) map[string]any {
	words := ""
	if co.Err != nil {
		words = co.Err.Error()
	}
	co.Err = nil
	return map[string]any{"checkout": co, "error": words}
}
