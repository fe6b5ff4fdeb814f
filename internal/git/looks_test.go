package git

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// Whatever happens to a checkout, who looks again is told what a first look tells;
// and what nothing happens to is read no more.
func TestLooksTellWhatIsNew(t *testing.T) {
	repo := newRepo(t)
	linked := filepath.Join(filepath.Dir(repo), "linked")
	git(t, repo, "worktree", "add", "-q", "-b", "side", linked)
	git(t, repo, "branch", "other")
	own := clone2(t, filepath.Dir(repo), repo)
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
	for _, x := range []struct {
		what, path string
		change     func()
	}{
		{"a repository: another branch", repo, func() { git(t, repo, "checkout", "-q", "other") }},
		{"a repository: and back", repo, func() { git(t, repo, "symbolic-ref", "HEAD", "refs/heads/main") }},
		{"a worktree: another branch", linked, func() { git(t, linked, "checkout", "-q", "-b", "third") }},
		{"a worktree through a link: another branch", link, func() { git(t, linked, "checkout", "-q", "-b", "fourth") }},
		{"a link to another", link, func() { do(os.Remove(link)); do(os.Symlink(repo, link)) }},
		{"a worktree: no branch", linked, func() { git(t, linked, "checkout", "-q", "--detach") }},
		{"a worktree that is locked", linked, func() { git(t, repo, "worktree", "lock", linked) }},
		{"a worktree that is moved away", linked, func() { do(os.Rename(linked, linked+"2")) }},
		{"a clone: another branch", own, func() { git(t, own, "checkout", "-q", "-b", "fifth") }},
		{"a clone whose .git goes", own, func() { do(os.Rename(filepath.Join(own, ".git"), filepath.Join(own, "git"))) }},
		{"a folder: a file", plain, func() { write(t, filepath.Join(plain, "file"), "x") }},
		{"nothing: a folder", none, func() { do(os.Mkdir(none, 0o700)) }},
		{"a folder: git init", none, func() { git(t, plain, "init", "-q", none) }},
		{"a folder that goes", none, func() { do(os.RemoveAll(none)) }},
	} {
		reads := 0
		var all []*Looks
		var plainly []func(string) session.Checkout
		for _, l := range []*Looks{NewLooks(), NewCloneLooks()} {
			look := l.look
			l.look = func(path string) session.Checkout { reads++; return look(path) }
			all, plainly = append(all, l), append(plainly, look)
		}
		is := func(when string) {
			t.Helper()
			for i, l := range all {
				if d := cmp.Diff(told(plainly[i](x.path)), told(l.Look(x.path))); d != "" {
					t.Errorf("%s, %s (-want +got):\n%s", x.what, when, d)
				}
			}
		}
		is("at first")
		time.Sleep(110 * time.Millisecond) // what was written before has settled
		is("settled")
		is("settled, again")
		for i, l := range all {
			lasting, before := lasts(plainly[i](x.path)), reads
			if is := l.Look(x.path); lasting && reads != before {
				t.Errorf("%s: nothing happened, and it is read again: %+v", x.what, is)
			}
		}
		x.change()
		is("changed")
		is("changed, again")
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
