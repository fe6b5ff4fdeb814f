package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/executable"
)

// asAnn runs git as the person of newRepo.
func asAnn() User { return User{Environ: os.Environ()} }

// branchOf makes a branch with one commit that writes a file.
func branchOf(t *testing.T, repo, branch, file, text string) string {
	t.Helper()
	git(t, repo, "switch", "-q", "-c", branch, "main")
	write(t, filepath.Join(repo, file), text)
	commit(t, repo, "change "+file)
	id := git(t, repo, "rev-parse", "HEAD")
	git(t, repo, "switch", "-q", "main")
	return id
}

func scratch(t *testing.T, repo, commit string) *Scratch {
	t.Helper()
	s, err := asAnn().NewScratch(t.Context(), repo, filepath.Join(t.TempDir(), "scratch"), commit, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if out := git(t, repo, "worktree", "list"); strings.Contains(out, s.path) {
			t.Errorf("left behind: %s", out)
		}
	})
	return s
}

// Whatever way work has come to its base, it is merged, and nothing else is.
func TestMerged(t *testing.T) {
	repo := newRepo(t)
	work := branchOf(t, repo, "work", "b.txt", "two\n")
	other := branchOf(t, repo, "other", "c.txt", "three\n")
	git(t, repo, "switch", "-q", "-c", "undone", "main")
	write(t, filepath.Join(repo, "d.txt"), "four\n")
	commit(t, repo, "do")
	git(t, repo, "revert", "--no-edit", "HEAD")
	undone := git(t, repo, "rev-parse", "HEAD")
	git(t, repo, "switch", "-q", "main")
	commit(t, repo, "something else")
	base := git(t, repo, "rev-parse", "main")
	for how, merge := range map[string]func(*Scratch) (string, error){
		"merge": func(s *Scratch) (string, error) { return s.Merge(t.Context(), work, "merge") },
		"squash": func(s *Scratch) (string, error) {
			return s.Squash(t.Context(), work, "squash\n", "Bob <bob@example.org>")
		},
		"rebase": func(s *Scratch) (string, error) { return s.Rebase(t.Context(), work) },
	} {
		into, err := merge(scratch(t, repo, base))
		if err != nil {
			t.Fatalf("%s: %v", how, err)
		}
		if merged, err := Merged(t.Context(), repo, work, into); !merged || err != nil {
			t.Errorf("%s: merged %v, %v", how, merged, err)
		}
		for _, commit := range []string{other, undone} {
			if merged, err := Merged(t.Context(), repo, commit, into); merged || err != nil {
				t.Errorf("%s: %s merged %v, %v", how, commit, merged, err)
			}
		}
		if author := git(t, repo, "log", "-1", "--format=%an", into); how == "squash" && author != "Bob" {
			t.Errorf("author %s", author)
		}
	}
	if git(t, repo, "rev-parse", "main") != base || git(t, repo, "rev-parse", "work") != work {
		t.Error("a branch moved")
	}
}

// Conflicts are named, beforehand and afterwards, and leave nothing behind.
func TestConflicts(t *testing.T) {
	repo := newRepo(t)
	work := branchOf(t, repo, "work", "a.txt", "theirs\n")
	write(t, filepath.Join(repo, "a.txt"), "ours\n")
	commit(t, repo, "ours")
	base := git(t, repo, "rev-parse", "main")
	_, files, known, err := MergeTree(t.Context(), repo, base, work)
	if !known || err != nil || !slices.Equal(files, []string{"a.txt"}) {
		t.Errorf("%q, %v, %v", files, known, err)
	}
	for how, merge := range map[string]func(*Scratch) (string, error){
		"merge":  func(s *Scratch) (string, error) { return s.Merge(t.Context(), work, "merge") },
		"squash": func(s *Scratch) (string, error) { return s.Squash(t.Context(), work, "squash", "") },
		"rebase": func(s *Scratch) (string, error) { return s.Rebase(t.Context(), work) },
	} {
		_, err := merge(scratch(t, repo, base))
		var conflict *ConflictError
		if !errors.As(err, &conflict) || !slices.Equal(conflict.Files, []string{"a.txt"}) {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// A branch moves only from where it was expected, with its checkout, and over nothing that is
// not committed.
func TestAdvance(t *testing.T) {
	repo := newRepo(t)
	base := git(t, repo, "rev-parse", "main")
	work := branchOf(t, repo, "work", "b.txt", "two\n")
	git(t, repo, "branch", "release")
	if err := asAnn().Advance(t.Context(), repo, "release", work, work, ""); !errors.Is(err, ErrMoved) {
		t.Errorf("from elsewhere: %v", err)
	}
	if err := asAnn().Advance(t.Context(), repo, "release", base, work, ""); err != nil || git(t, repo, "rev-parse", "release") != work {
		t.Errorf("nowhere checked out: %v", err)
	}
	write(t, filepath.Join(repo, "b.txt"), "mine\n")
	if err := asAnn().Advance(t.Context(), repo, "main", base, work, repo); err == nil || errors.Is(err, ErrMoved) {
		t.Errorf("over an untracked file: %v", err)
	}
	if git(t, repo, "rev-parse", "main") != base || content(t, filepath.Join(repo, "b.txt")) != "mine\n" {
		t.Error("something changed")
	}
	if err := os.Remove(filepath.Join(repo, "b.txt")); err != nil {
		t.Fatal(err)
	}
	if err := asAnn().Advance(t.Context(), repo, "main", base, work, repo); err != nil || content(t, filepath.Join(repo, "b.txt")) != "two\n" {
		t.Errorf("checked out: %v", err)
	}
	if out := git(t, repo, "status", "--porcelain"); out != "" {
		t.Errorf("status: %s", out)
	}
	if err := asAnn().Advance(t.Context(), repo, "main", base, work, repo); !errors.Is(err, ErrMoved) {
		t.Errorf("twice: %v", err)
	}
}

// A rebase leaves out what only a merge commit has. It is refused then, and not where a merge has
// nothing of its own.
func TestRebaseOfMerges(t *testing.T) {
	for name, own := range map[string]bool{"a merge alone": false, "a merge with a fix": true} {
		t.Run(name, func(t *testing.T) {
			repo := newRepo(t)
			branchOf(t, repo, "work", "b.txt", "two\n")
			commit(t, repo, "else")
			git(t, repo, "switch", "-q", "work")
			git(t, repo, "merge", "-q", "--no-commit", "main")
			if own {
				write(t, filepath.Join(repo, "fix.txt"), "fix\n")
				git(t, repo, "add", ".")
			}
			git(t, repo, "commit", "-q", "-m", "merge")
			work := git(t, repo, "rev-parse", "HEAD")
			git(t, repo, "switch", "-q", "main")
			commit(t, repo, "more")
			to, err := scratch(t, repo, git(t, repo, "rev-parse", "main")).Rebase(t.Context(), work)
			var merges *MergesError
			if errors.As(err, &merges) != own || err != nil && !own || own && len(merges.Commits) != 1 {
				t.Errorf("rebased to %q, %v", to, err)
			}
		})
	}
}

// Settings of the person that suit other merges do no harm, hooks can refuse, and what a
// killed process left is removed.
func TestScratchOfPerson(t *testing.T) {
	repo := newRepo(t)
	work := branchOf(t, repo, "work", "b.txt", "two\n")
	commit(t, repo, "else")
	base := git(t, repo, "rev-parse", "main")
	for _, kv := range []string{"merge.ff=false", "rebase.autoStash=true", "rebase.updateRefs=true", "rerere.enabled=true"} {
		key, value, _ := strings.Cut(kv, "=")
		git(t, repo, "config", key, value)
	}
	if _, err := scratch(t, repo, base).Squash(t.Context(), work, "squash", ""); err != nil {
		t.Error(err)
	}
	if _, err := scratch(t, repo, base).Rebase(t.Context(), work); err != nil || git(t, repo, "rev-parse", "work") != work {
		t.Error(err)
	}
	hook := filepath.Join(repo, ".git", "hooks", "commit-msg")
	write(t, hook, "#!/bin/sh\necho no such message >&2; exit 1\n")
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := scratch(t, repo, base).Merge(t.Context(), work, "merge"); err == nil || !strings.Contains(err.Error(), "no such message") {
		t.Errorf("in spite of the hook: %v", err)
	}
	left := filepath.Join(t.TempDir(), "left")
	if _, err := asAnn().NewScratch(t.Context(), repo, left, base, true); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := RemoveScratch(t.Context(), repo, left); err != nil {
			t.Error(err)
		}
	}
	if out := git(t, repo, "worktree", "list"); strings.Contains(out, left) {
		t.Error(out)
	}
}

// Only a merged branch that nobody has checked out is deleted.
func TestDeleteMerged(t *testing.T) {
	repo := newRepo(t)
	work := branchOf(t, repo, "agents/work", "b.txt", "two\n")
	taken := Ref{TakenRefs + "work-123456/agents/work", work}
	if err := Mark(t.Context(), repo, taken.Name, work); err != nil {
		t.Fatal(err)
	}
	if deleted, err := DeleteMerged(t.Context(), repo, taken, "agents/work"); err == nil || deleted {
		t.Errorf("not merged: %v", err)
	}
	git(t, repo, "merge", "-q", "agents/work")
	other := filepath.Join(t.TempDir(), "other")
	git(t, repo, "worktree", "add", "-q", other, "agents/work")
	if deleted, err := DeleteMerged(t.Context(), repo, taken, "agents/work"); err == nil || deleted || !strings.Contains(err.Error(), other) {
		t.Errorf("checked out: %v", err)
	}
	git(t, repo, "worktree", "remove", other)
	if deleted, err := DeleteMerged(t.Context(), repo, taken, "agents/work"); err != nil || !deleted {
		t.Errorf("%v, %v", deleted, err)
	}
	if refs := git(t, repo, "for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		t.Errorf("left: %s", refs)
	}
}

// What a branch is pushed to is what git push would take, and a push is never forced.
func TestPush(t *testing.T) {
	repo := newRepo(t)
	if name, _, err := Remote(t.Context(), repo, "work"); name != "" || err != nil {
		t.Errorf("none: %q, %v", name, err)
	}
	far := filepath.Join(t.TempDir(), "far.git")
	git(t, repo, "init", "-q", "--bare", far)
	git(t, repo, "remote", "add", "team", far)
	name, url, err := Remote(t.Context(), repo, "work")
	if name != "team" || url != far || err != nil {
		t.Errorf("%q, %q, %v", name, url, err)
	}
	work := branchOf(t, repo, "work", "b.txt", "two\n")
	if _, err := asAnn().Push(t.Context(), repo, name, work, "work", true, true); err != nil || git(t, far, "rev-parse", "work") != work {
		t.Error(err)
	}
	if got := git(t, repo, "rev-parse", "--abbrev-ref", "work@{upstream}"); got != "team/work" {
		t.Errorf("upstream %s", got)
	}
	git(t, repo, "branch", "-f", "work", "main")
	if _, err := asAnn().Push(t.Context(), repo, name, "main", "work", false, true); err == nil || git(t, far, "rev-parse", "work") != work {
		t.Errorf("by force: %v", err)
	}
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Hooks that are configured as a part of the checkout are those of the repository's own.
func TestHooksOf(t *testing.T) {
	repo := newRepo(t)
	for setting, want := range map[string]string{"": "", "/etc/hooks": "", "tools/hooks": filepath.Join(repo, "tools/hooks")} {
		if setting != "" {
			git(t, repo, "config", "core.hooksPath", setting)
		}
		if got, err := HooksOf(t.Context(), repo); got != want || err != nil {
			t.Errorf("%q: %q, %v", setting, got, err)
		}
		_, _ = tryGit(repo, "config", "--unset", "core.hooksPath")
	}
}

// TestLimit checks that git ends although a hook of it hangs.
func TestLimit(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	was := git(t, repo, "rev-parse", "main")
	executable.Write(t, filepath.Join(repo, ".git", "hooks", "pre-commit"), []byte("#!/bin/sh\nexec sleep 60 >/dev/null 2>&1\n"), 0o755)
	u := asAnn()
	u.Limit = 100 * time.Millisecond
	write(t, filepath.Join(repo, "c.txt"), "three\n")
	err := u.CommitAll(t.Context(), repo, "more", true)
	if err == nil || !strings.Contains(err.Error(), "did not end within 100ms") || git(t, repo, "rev-parse", "main") != was {
		t.Error(err)
	}
}

// TestAdvanceThatFailsLate checks that a branch has moved whose git fails later, as by a hook.
func TestAdvanceThatFailsLate(t *testing.T) {
	repo := newRepo(t)
	base, work := git(t, repo, "rev-parse", "main"), branchOf(t, repo, "work", "b.txt", "two\n")
	undo := insteadOfGit(t, `case "$*" in *--ff-only*) "$git" "$@"; exit 1 ;; esac`)
	err := asAnn().Advance(t.Context(), repo, "main", base, work, repo)
	undo()
	if err != nil || git(t, repo, "rev-parse", "main") != work {
		t.Error(err)
	}
}

// A branch that is rewritten keeps what is not committed, or stays where it is.
func TestRewrite(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	path := tree(t, repo)
	from := git(t, path, "rev-parse", "HEAD")
	branch := git(t, path, "symbolic-ref", "--short", "HEAD")
	git(t, path, "commit", "-q", "--amend", "-m", "another", "--allow-empty")
	write(t, filepath.Join(path, "fresh.txt"), "new\n")
	commit(t, path, "more")
	to := git(t, path, "rev-parse", "HEAD")
	git(t, path, "reset", "-q", "--hard", from)
	u := User{Environ: os.Environ()}
	if err := u.Rewrite(t.Context(), repo, branch, to, from, path); !errors.Is(err, ErrMoved) {
		t.Errorf("a branch that is elsewhere: %v", err)
	}
	write(t, filepath.Join(path, "fresh.txt"), "not committed\n")
	if err := u.Rewrite(t.Context(), repo, branch, from, to, path); err == nil {
		t.Error("it overwrote what is not tracked")
	}
	if now := git(t, path, "rev-parse", "HEAD"); now != from {
		t.Errorf("it moved to %s", now)
	}
	git(t, path, "clean", "-fdq")
	write(t, filepath.Join(path, "a.txt"), "not committed\n")
	if err := u.Rewrite(t.Context(), repo, branch, from, to, path); err != nil {
		t.Error(err)
	}
	if now, status := git(t, path, "rev-parse", branch), git(t, path, "status", "--porcelain"); now != to || status != "M a.txt" {
		t.Errorf("at %s with %q", now, status)
	}
}

// insteadOfGit puts a git before the real one, $git, that runs a script first.
func insteadOfGit(t *testing.T, script string) (undo func()) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	tools, was := t.TempDir(), os.Getenv("PATH")
	executable.Write(t, filepath.Join(tools, "git"), []byte("#!/bin/sh\ngit=\""+real+"\" tools=\""+tools+"\"\n"+script+"\nexec \"$git\" \"$@\"\n"), 0o755)
	t.Setenv("PATH", tools+string(filepath.ListSeparator)+was)
	return func() { t.Setenv("PATH", was) }
}

// beforeReset makes a commit in a directory, once, right before git reset.
func beforeReset(t *testing.T, path string) (undo func()) {
	t.Helper()
	t.Setenv("COMMITS_IN", path)
	return insteadOfGit(t, `case "$*" in *reset*)
	if mkdir "$tools/done" 2>/dev/null; then
		"$git" -C "$COMMITS_IN" -c user.name=a -c user.email=a@example.invalid commit -q --allow-empty -m last || exit 1
	fi ;;
esac`)
}

// TestRewriteOfLastMoment checks that a commit is kept that an agent makes right before git moves its
// branch.
func TestRewriteOfLastMoment(t *testing.T) {
	repo := newRepo(t)
	path := tree(t, repo)
	from := git(t, path, "rev-parse", "HEAD")
	branch := git(t, path, "symbolic-ref", "--short", "HEAD")
	git(t, path, "commit", "-q", "--amend", "-m", "another", "--allow-empty")
	to := git(t, path, "rev-parse", "HEAD")
	git(t, path, "reset", "-q", "--hard", from)
	undo := beforeReset(t, path)
	err := User{Environ: os.Environ()}.Rewrite(t.Context(), repo, branch, from, to, path)
	undo()
	if said := git(t, path, "log", "-1", "--format=%s", branch); !errors.Is(err, ErrMoved) || said != "last" {
		t.Errorf("%v, the last commit is %q", err, said)
	}
}

// Errors of git are cut off; the list of conflicting files is not.
func TestMergeTreeOfManyFiles(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	const files = 1000
	for _, side := range []string{"ours", "theirs"} {
		git(t, repo, "checkout", "-q", "-b", side, "main")
		for i := range files {
			write(t, filepath.Join(repo, fmt.Sprintf("%060d", i)), side)
		}
		git(t, repo, "add", ".")
		git(t, repo, "commit", "-q", "-m", side)
	}
	_, conflicts, known, err := MergeTree(t.Context(), repo, "ours", "theirs")
	if err != nil || known && len(conflicts) != files {
		t.Errorf("%d conflicts, %v", len(conflicts), err)
	}
}

// TestUnsavedFiles checks which files of a checkout are not committed: also those in a submodule.
func TestUnsavedFiles(t *testing.T) {
	lib, repo := newRepo(t), newRepo(t)
	git(t, repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub")
	commit(t, repo, "submodule")
	for _, c := range []struct{ file, want string }{
		{"ignored", ""}, {"sub/ignored", ""}, {"sub/new.txt", "sub"}, {"sub/a.txt", "sub"}, {"a.txt", "a.txt"}, {"new/file", "new/"},
	} {
		write(t, filepath.Join(repo, c.file), "two\n")
		if files, err := UnsavedFiles(t.Context(), Here(repo)); err != nil || strings.Join(files, " ") != c.want {
			t.Errorf("with %s: %q, %v, want %q", c.file, files, err, c.want)
		}
		for _, at := range []string{repo, filepath.Join(repo, "sub")} {
			git(t, at, "reset", "-q", "--hard")
			git(t, at, "clean", "-q", "-d", "-f")
		}
	}
}
