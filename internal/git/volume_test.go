package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

// elsewhereShell runs commands as another place would: with the environment of an image, in
// another directory. The repository of this machine is moved aside meanwhile, so that
// nothing there can be read.
func elsewhereShell(t testing.TB, repo string) Shell {
	t.Helper()
	empty := t.TempDir()
	return func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
		away := repo + ".away"
		if err := os.Rename(repo, away); err != nil {
			return err
		}
		defer os.Rename(away, repo)
		c := exec.CommandContext(ctx, "sh", append([]string{"-c", `exec "$@"`, "sh"}, argv...)...)
		c.Dir, c.Env, c.Stdin, c.Stdout = "/", []string{"PATH=" + os.Getenv("PATH"), "HOME=" + empty}, stdin, stdout
		var said bytes.Buffer
		c.Stderr = &said
		if err := c.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
		}
		return nil
	}
}

func newVolume(t testing.TB, branch string) (repo string, v Volume) {
	t.Helper()
	repo = newRepo(t)
	v = Volume{Path: filepath.Join(t.TempDir(), "a b", "it's $x"), Run: elsewhereShell(t, repo)}
	if made, err := v.AddClone(t.Context(), repo, branch, ""); err != nil || !made {
		t.Fatalf("made %v, %v", made, err)
	}
	return repo, v
}

func TestVolumeAddClone(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	git(t, repo, "tag", "v1")
	git(t, repo, "config", "user.email", "team@example.org")
	git(t, repo, "switch", "-q", "-c", "other")
	write(t, filepath.Join(repo, "more.txt"), "of another branch\n")
	commit(t, repo, "more")
	git(t, repo, "tag", "v2")
	git(t, repo, "switch", "-q", "main")
	main, other := strings.TrimSpace(git(t, repo, "rev-parse", "main")), strings.TrimSpace(git(t, repo, "rev-parse", "other"))
	for name, test := range map[string]struct {
		branch, base string
		made         bool
		at, tags     string
	}{
		"new":             {branch: "agents/api", made: true, at: main, tags: "v1"},
		"from a branch":   {branch: "agents/web", base: "other", made: true, at: other, tags: "v1\nv2"},
		"there already":   {branch: "other", base: "v1", at: other, tags: "v1\nv2"},
		"one that is out": {branch: "main", at: main, tags: "v1"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Volume{Path: filepath.Join(t.TempDir(), "ws", "x"), Run: elsewhereShell(t, repo)}
			if co := v.Look(t.Context()); co.Exists || co.Err != nil {
				t.Errorf("before: %+v", co)
			}
			made, err := v.AddClone(t.Context(), repo, test.branch, test.base)
			if err != nil || made != test.made {
				t.Fatalf("made %v, %v", made, err)
			}
			dot := filepath.Join(v.Path, ".git")
			want := session.Checkout{Path: v.Path, Exists: true, Git: true, Repo: dot, GitDir: dot, Branch: test.branch}
			if diff := cmp.Diff(want, v.Look(t.Context())); diff != "" {
				t.Errorf("clone (-want +got):\n%s", diff)
			}
			if at := strings.TrimSpace(git(t, v.Path, "rev-parse", "HEAD")); at != test.at {
				t.Errorf("at %s, want %s", at, test.at)
			}
			if tags := git(t, v.Path, "tag"); tags != test.tags {
				t.Errorf("tags %q, want %q", tags, test.tags)
			}
			if email := strings.TrimSpace(git(t, v.Path, "config", "--local", "user.email")); email != "team@example.org" {
				t.Errorf("commits bear %q", email)
			}
			if start, err := v.Start(t.Context(), test.branch); start != test.at {
				t.Errorf("made from %s, %v; want %s", start, err, test.at)
			}
			if risk, err := v.Risk(t.Context(), repo); err != nil || risk.Any() {
				t.Errorf("at risk: %s, %v", risk, err)
			}
		})
	}
}

// TestVolumeKeepsData tells that a clone is never made over anything, and appears as a whole.
func TestVolumeKeepsData(t *testing.T) {
	t.Parallel()
	repo, v := newVolume(t, "agents/api")
	write(t, filepath.Join(v.Path, "mine.txt"), "work\n")
	if _, err := v.AddClone(t.Context(), repo, "agents/api", ""); err == nil || !strings.Contains(err.Error(), "it is a clone already") {
		t.Errorf("over a clone: %v", err)
	}
	plain := Volume{Path: filepath.Join(t.TempDir(), "plain"), Run: v.Run}
	write(t, filepath.Join(plain.Path, "mine.txt"), "work\n")
	if _, err := plain.AddClone(t.Context(), repo, "agents/api", ""); err == nil || !strings.Contains(err.Error(), "it has files") {
		t.Errorf("over files: %v", err)
	}
	for _, file := range []string{filepath.Join(v.Path, "mine.txt"), filepath.Join(plain.Path, "mine.txt")} {
		if b, err := os.ReadFile(file); string(b) != "work\n" {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	cut := Volume{Path: filepath.Join(t.TempDir(), "cut"), Run: func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
		if stdin != nil {
			stdin = io.LimitReader(stdin, 300) // the connection ends in the middle
		}
		return v.Run(ctx, stdin, stdout, argv...)
	}}
	if _, err := cut.AddClone(t.Context(), repo, "agents/api", ""); err == nil {
		t.Error("half a bundle became a clone")
	}
	if left, err := os.ReadDir(filepath.Dir(cut.Path)); len(left) > 0 {
		t.Errorf("half a clone stays: %v, %v", left, err)
	}
	cut.Run = v.Run
	if _, err := cut.AddClone(t.Context(), repo, "agents/api", ""); err != nil {
		t.Errorf("the next one: %v", err)
	}
}

func TestVolumeFetch(t *testing.T) {
	t.Parallel()
	repo, v := newVolume(t, "agents/api")
	ref := "refs/agentform/api/agents/api"
	f, err := v.Fetch(t.Context(), repo, "agents/api", ref)
	if err != nil || !f.Moved || f.Ahead != 0 {
		t.Fatalf("without work: %+v, %v", f, err)
	}
	for n := 1; n <= 2; n++ {
		write(t, filepath.Join(v.Path, "work.txt"), fmt.Sprintf("%d\n", n))
		commit(t, v.Path, "work")
		f, err = v.Fetch(t.Context(), repo, "agents/api", ref)
		if want := strings.TrimSpace(git(t, v.Path, "rev-parse", "HEAD")); err != nil || f.Commit != want || !f.Moved || f.Ahead != n {
			t.Fatalf("work %d: %+v, %v; want %s", n, f, err, want)
		}
	}
	if f, err = v.Fetch(t.Context(), repo, "agents/api", ref); err != nil || f.Moved || f.Ahead != 2 {
		t.Errorf("again: %+v, %v", f, err)
	}
	git(t, v.Path, "commit", "--amend", "-q", "-m", "rewritten")
	if f, err = v.Fetch(t.Context(), repo, "agents/api", ref); err != nil || !f.Moved || f.Ahead != 2 {
		t.Errorf("rewritten: %+v, %v", f, err)
	}
	git(t, v.Path, "reset", "-q", "--hard", "HEAD~2")
	if f, err = v.Fetch(t.Context(), repo, "agents/api", ref); err != nil || !f.Moved || f.Ahead != 0 {
		t.Errorf("back: %+v, %v", f, err)
	}
	if _, err := v.Fetch(t.Context(), repo, "none", ref); err == nil || !strings.Contains(err.Error(), "it has no branch none") {
		t.Errorf("a branch that does not exist: %v", err)
	}
	lost := Volume{Path: v.Path, Run: func(context.Context, io.Reader, io.Writer, ...string) error { return nil }}
	if _, err := lost.Fetch(t.Context(), repo, "agents/api", ref); err == nil {
		t.Error("a fetch without output is no error")
	}
}

func TestVolumeRisk(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		work func(t *testing.T, path string)
		want Risk
	}{
		"nothing": {func(*testing.T, string) {}, Risk{}},
		"ignored": {func(t *testing.T, path string) {
			write(t, path+"/.git/info/exclude", "x.o\n")
			write(t, path+"/x.o", "1")
		}, Risk{}},
		"changed":   {func(t *testing.T, path string) { write(t, path+"/a.txt", "changed\n") }, Risk{Uncommitted: 1}},
		"untracked": {func(t *testing.T, path string) { write(t, path+"/new.txt", "new\n") }, Risk{Untracked: 1}},
		"staged":    {func(t *testing.T, path string) { write(t, path+"/new.txt", "new\n"); git(t, path, "add", ".") }, Risk{Uncommitted: 1}},
		"committed": {func(t *testing.T, path string) { write(t, path+"/new.txt", "new\n"); commit(t, path, "new") }, Risk{Lacking: 1}},
		"in a reflog": {func(t *testing.T, path string) {
			write(t, path+"/n", "n")
			commit(t, path, "n")
			git(t, path, "reset", "-q", "--hard", "HEAD~1")
		}, Risk{Dropped: 1}},
		"stashed": {func(t *testing.T, path string) { write(t, path+"/a.txt", "n"); git(t, path, "stash", "-q") }, Risk{Lacking: 1}},
		"marked": {func(t *testing.T, path string) {
			git(t, path, "update-index", "--assume-unchanged", "a.txt")
			write(t, path+"/a.txt", "changed\n")
		}, Risk{Uncommitted: 1}},
		"skipped": {func(t *testing.T, path string) {
			git(t, path, "update-index", "--skip-worktree", "a.txt")
			write(t, path+"/a.txt", "changed\n")
		}, Risk{Uncommitted: 1}},
		"a repository below": {func(t *testing.T, path string) {
			write(t, path+"/.git/info/exclude", "lib\n")
			git(t, path, "init", "-q", "lib")
		}, Risk{Nested: "a repository: ./lib/.git"}},
		"a bare one": {func(t *testing.T, path string) {
			write(t, path+"/.git/info/exclude", "lib\n")
			git(t, path, "init", "-q", "--bare", "lib")
		}, Risk{Nested: "a repository: ./lib"}},
		"a worktree": {func(t *testing.T, path string) {
			git(t, path, "worktree", "add", "-q", "--detach", t.TempDir()+"/w")
		}, Risk{Nested: "a worktree or a submodule: .git/worktrees"}},
		"large": {func(t *testing.T, path string) { write(t, path+"/.git/lfs/objects/ab/cd", "x") }, Risk{Large: 1}},
		"merging": {func(t *testing.T, path string) {
			write(t, path+"/.git/MERGE_HEAD", git(t, path, "rev-parse", "HEAD"))
		}, Risk{Busy: "merge"}},
		"its settings run nothing": {func(t *testing.T, path string) {
			writeScript(t, path+"/.git/evil", "touch "+path+"/ran")
			git(t, path, "config", "core.fsmonitor", path+"/.git/evil")
		}, Risk{}},
	} {
		t.Run(name, func(t *testing.T) {
			repo := newRepo(t)
			v := Volume{Path: filepath.Join(t.TempDir(), "ws"), Run: elsewhereShell(t, repo)}
			if _, err := v.AddClone(t.Context(), repo, "agents/api", ""); err != nil {
				t.Fatal(err)
			}
			test.work(t, v.Path)
			got, err := v.Risk(t.Context(), repo)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("risk (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("fetched", func(t *testing.T) {
		repo, v := newVolume(t, "agents/api")
		write(t, v.Path+"/new.txt", "new\n")
		commit(t, v.Path, "new")
		if _, err := v.Fetch(t.Context(), repo, "agents/api", "refs/agentform/api/agents/api"); err != nil {
			t.Fatal(err)
		}
		if got, err := v.Risk(t.Context(), repo); err != nil || got.Any() {
			t.Errorf("%s, %v", got, err)
		}
	})
	t.Run("not asked", func(t *testing.T) {
		repo, v := newVolume(t, "agents/api")
		unreachable := errors.New("unreachable")
		v.Run = func(context.Context, io.Reader, io.Writer, ...string) error { return unreachable }
		if _, err := v.Risk(t.Context(), repo); !errors.Is(err, unreachable) {
			t.Errorf("unreachable: %v", err)
		}
		v.Run = func(context.Context, io.Reader, io.Writer, ...string) error { return nil }
		if _, err := v.Risk(t.Context(), repo); err == nil {
			t.Error("an empty answer says that nothing is at risk")
		}
		if co := v.Look(t.Context()); co.Err == nil {
			t.Errorf("an empty answer is %+v", co)
		}
	})
}

func TestVolumeLook(t *testing.T) {
	repo, v := newVolume(t, "agents/api")
	head := strings.TrimSpace(git(t, v.Path, "rev-parse", "HEAD"))
	git(t, v.Path, "checkout", "-q", "--detach")
	if co := v.Look(t.Context()); co.Branch != "" || co.Head != head {
		t.Errorf("detached: %+v", co)
	}
	git(t, v.Path, "symbolic-ref", "HEAD", "refs/heads/none")
	if co := v.Look(t.Context()); co.Branch != "" || co.BranchGone != "none" {
		t.Errorf("on a branch that does not exist: %+v", co)
	}
	plain := Volume{Path: t.TempDir(), Run: v.Run}
	if co := plain.Look(t.Context()); !co.Exists || !co.Empty || co.Git {
		t.Errorf("empty: %+v", co)
	}
	write(t, plain.Path+"/x", "x")
	if co := plain.Look(t.Context()); !co.Exists || co.Empty || co.Git {
		t.Errorf("plain: %+v", co)
	}
	if risk, err := plain.Risk(t.Context(), repo); err != nil || !risk.Any() {
		t.Errorf("files without git: %s, %v", risk, err)
	}
	if _, err := v.Unsaved(t.Context()); err != nil {
		t.Error(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"sh", "ls"} {
		program, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(program, filepath.Join(bin, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	if co := v.Look(t.Context()); co.Err == nil || !strings.Contains(co.Err.Error(), "the image has no git") {
		t.Errorf("in an image without git: %+v", co)
	}
	if co := plain.Look(t.Context()); co.Err != nil || !co.Exists {
		t.Errorf("plain, in an image without git: %+v", co)
	}
}

// TestVolumeCount checks that the changes of a clone elsewhere are counted by one command there, if it is
// known what the clone was made from, and are those that single commands of git show.
func TestVolumeCount(t *testing.T) {
	t.Parallel()
	repo, v := newVolume(t, "agents/api")
	commands, run := 0, v.Run
	v.Run = func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
		commands++
		return run(ctx, stdin, stdout, argv...)
	}
	base, known := Base{Name: "main", Commit: "main"}, ""
	check := func(what string, want Changes, most int) {
		t.Helper()
		commands = 0
		c, within, err := v.Count(t.Context(), repo, "agents/api", base, known)
		if err != nil || c != want || commands != most {
			t.Errorf("%s: %+v by %d commands, %v; want %+v by %d", what, c, commands, err, want, most)
		}
		single, _, err := CountChanges(t.Context(), Here(v.Path), within)
		if single.Ahead, single.Behind = c.Ahead, c.Behind; err != nil || c != single {
			t.Errorf("%s: %+v, %v by single commands, want %+v", what, single, err, c)
		}
		known = within.Start
	}
	check("the first time", Changes{}, 1)
	check("nothing has changed", Changes{}, 1)
	write(t, filepath.Join(v.Path, "new\tfile"), "1\n")
	write(t, filepath.Join(v.Path, "more\nfiles"), "1\n")
	check("only files that are not tracked", Changes{Untracked: 2}, 1)
	commit(t, v.Path, "mine")
	write(t, filepath.Join(v.Path, "new\tfile"), "2\n3\n")
	write(t, filepath.Join(v.Path, "again"), "1\n")
	check("a commit, an edit and a file", Changes{Added: 3, Untracked: 1, Ahead: 1}, 1)
	git(t, v.Path, "add", "-A")
	check("in the index", Changes{Added: 4, Ahead: 1}, 1)
	git(t, v.Path, "reset", "-q", "--hard")

	write(t, filepath.Join(repo, "theirs"), "1\n2\n")
	commit(t, repo, "theirs")
	check("the base has moved", Changes{Added: 2, Ahead: 1}, 1) // which the clone does not know
	if err := v.Offer(t.Context(), repo, "agents/api", git(t, repo, "rev-parse", "main~1"), git(t, repo, "rev-parse", "main")); err != nil {
		t.Fatal(err)
	}
	check("it was brought the base", Changes{Added: 2, Ahead: 1, Behind: 1}, 2)
	git(t, v.Path, "merge", "-q", "--no-edit", BaseRef)
	check("it has merged the base", Changes{Added: 2, Ahead: 2}, 1)

	known = ""
	write(t, filepath.Join(repo, "more"), "1\n")
	commit(t, repo, "more of theirs")
	check("the first time, and the base has moved", Changes{Added: 2, Ahead: 2}, 2)
	known = strings.Repeat("0", 40)
	check("it was made from another commit", Changes{Added: 2, Ahead: 2}, 2)
	git(t, v.Path, "update-ref", "-d", startRef)
	git(t, v.Path, "update-ref", "-d", "refs/remotes/origin/agents/api")
	if _, _, err := v.Count(t.Context(), repo, "agents/api", base, known); !errors.Is(err, errNoStart) {
		t.Errorf("without a record: %v", err)
	}
	if _, _, err := (Volume{Path: v.Path + "/none", Run: run}).Count(t.Context(), repo, "agents/api", base, ""); err == nil {
		t.Error("a directory that does not exist was counted")
	}
}

// TestVolumeOutputLost: what a place elsewhere loses of an output is an error, whatever is
// asked, and what arrives is passed on as it is.
func TestVolumeOutputLost(t *testing.T) {
	t.Parallel()
	repo, whole := newVolume(t, "agents/api")
	write(t, filepath.Join(whole.Path, "new.txt"), "work\n")
	for _, lost := range []int{1, 10, 26, 60, 1 << 20} {
		v := Volume{Path: whole.Path, Run: func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
			var out bytes.Buffer
			err := whole.Run(ctx, stdin, &out, argv...)
			_, _ = stdout.Write(out.Bytes()[:max(0, out.Len()-lost)])
			return err
		}}
		if r, err := v.Risk(t.Context(), repo); !errors.Is(err, errCutOff) {
			t.Errorf("%d bytes lost: %+v, %v", lost, r, err)
		}
		if co := v.Look(t.Context()); !errors.Is(co.Err, errCutOff) {
			t.Errorf("%d bytes lost: %+v", lost, co)
		}
		if c, _, err := v.Count(t.Context(), repo, "agents/api", Base{Name: "main", Commit: "main"}, ""); !errors.Is(err, errCutOff) {
			t.Errorf("%d bytes lost: %+v, %v", lost, c, err)
		}
		if out, err := v.Git()(t.Context(), "status", "--porcelain"); !errors.Is(err, errCutOff) {
			t.Errorf("%d bytes lost: %q, %v", lost, out, err)
		}
	}
	for _, text := range []string{"", "x", "a\nb\n", strings.Repeat("long\n", 1000)} {
		for _, status := range []int{0, 3} {
			var out bytes.Buffer
			err := whole.run(t.Context(), strings.NewReader(text), &out, "sh", "-c", fmt.Sprintf("cat; exit %d", status))
			if out.String() != text || (err != nil) != (status != 0) {
				t.Errorf("%.20q, exit status %d: %.20q, %v", text, status, out.String(), err)
			}
		}
	}
}
