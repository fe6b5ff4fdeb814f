package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	_ "github.com/agentform/agentform/internal/test/seed"
	"github.com/agentform/agentform/session"
)

func TestMain(m *testing.M) {
	if common := os.Getenv(holdVariable); common != "" {
		os.Exit(holdForEver(common))
	}
	home, err := isolate()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(home) // what is left is the system's to remove
		os.Exit(code)
	}))
}

// isolate gives the tests a home of their own, whose settings of git hide things.
func isolate() (home string, err error) {
	if home, err = os.MkdirTemp("", "home"); err != nil {
		return "", err
	}
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config")} {
		if err := os.Setenv(name, value); err != nil {
			return "", err
		}
	}
	return home, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(`
[user]
	name = Ann
	email = ann@example.org
[init]
	defaultBranch = main
[status]
	showUntrackedFiles = no
	short = true
	branch = true
[branch]
	autoSetupMerge = always
[protocol "file"]
	allow = always
`), 0o600)
}

// directory returns a new directory, without links in its path.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// newRepo is a repository with one commit.
func newRepo(t testing.TB) string {
	t.Helper()
	repo := filepath.Join(folder(t), "my repo")
	git(t, filepath.Dir(repo), "init", "-q", repo)
	write(t, filepath.Join(repo, "a.txt"), "one\n")
	write(t, filepath.Join(repo, ".gitignore"), "ignored\n")
	commit(t, repo, "first")
	return repo
}

func commit(t testing.TB, dir, message string) {
	t.Helper()
	git(t, dir, "add", "--all")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", message)
}

// git runs the real git, as a person would.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

func tryGit(dir string, args ...string) (string, error) {
	c := exec.Command("git", args...)
	c.Dir = dir
	c.Env = append(environ(), "GIT_EDITOR=true")
	out, err := c.CombinedOutput()
	return string(out), err
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func writeScript(t testing.TB, path, text string) {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

// session.CheckBranch says what the real git says.
func TestCheckBranchIsGits(t *testing.T) {
	dir := folder(t)
	compare := func(t interface{ Errorf(string, ...any) }, name string) {
		_, err := tryGit(dir, "check-ref-format", "--branch", name)
		if got := session.CheckBranch(name); (got == nil) != (err == nil) {
			t.Errorf("CheckBranch(%q) = %v, git says %v", name, got, err)
		}
	}
	for _, name := range []string{
		"", "a", "main", "HEAD", "head", "a/HEAD", "HEAD/a", "@", "@/a", "a@", "@{", "@{-1}", "@{u}", "a@{b", "a{b", "-", "-a", "a/-b", "--",
		".", "..", "a.", "a..b", "a./b", ".a", "a/.b", "a/..", "./a", "lock", ".lock", "a.lock", "a.lock/b", "a.locks", "a.LOCK",
		"/", "/a", "a/", "a//b", "a b", " ", "a\tb", "a\nb", "a\x7fb", "a\x01", "~", "a~1", "a^", "a:b", "?", "*", "a[b", "a]b", `a\b`, `"`, "'", "$(a)", "a;b", "a|b", "a&b", "a<b>",
		"ünï/côdé", "日本", "\xff\xfe", "refs/heads/a", strings.Repeat("x", 1000), strings.Repeat("a/", 200) + "a",
	} {
		compare(t, name)
	}
	piece := rapid.SampledFrom([]string{"a", "B", "/", ".", "..", "@", "{", "-", ".lock", "HEAD", "ü", " ", "~", "^", ":", "?", "*", "[", "]", "\\", "\x7f", "\x1f", "\xff", "refs/heads/", "'"})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.Map(rapid.SliceOfN(piece, 0, 6), func(p []string) string { return strings.Join(p, "") }),
			rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r != 0 }), 0, 12, -1),
		).Draw(t, "name")
		compare(t, name)
	})
}

func TestToplevelAndCommonDir(t *testing.T) {
	repo := newRepo(t)
	deep := filepath.Join(repo, "x", "y")
	write(t, filepath.Join(deep, "f"), "")
	t.Setenv("GIT_DIR", "/nowhere") // as a hook that calls agentform would have it
	if top, err := Toplevel(t.Context(), deep); err != nil || top != repo {
		t.Errorf("Toplevel = %q, %v, want %q", top, err, repo)
	}
	if _, err := Toplevel(t.Context(), filepath.Dir(repo)); !errors.Is(err, ErrNotRepository) {
		t.Errorf("Toplevel outside = %v, want ErrNotRepository", err)
	}
	tree := filepath.Join(filepath.Dir(repo), "tree")
	git(t, repo, "worktree", "add", "-b", "x", tree)
	link := filepath.Join(filepath.Dir(repo), "link")
	if err := os.Symlink(tree, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{repo, tree, link} {
		if dir, err := CommonDir(path); err != nil || dir != filepath.Join(repo, ".git") {
			t.Errorf("CommonDir(%s) = %q, %v", path, dir, err)
		}
	}
	if _, err := CommonDir(deep); !errors.Is(err, ErrNotRepository) {
		t.Errorf("CommonDir below the top = %v, want ErrNotRepository", err)
	}
}

func TestErrors(t *testing.T) {
	repo := newRepo(t)
	_, err := run(t.Context(), repo, "worktree", "remove", "--", "/nowhere")
	var e *Error
	if !errors.As(err, &e) || e.Args[0] != "worktree" || !strings.Contains(err.Error(), "git worktree remove -- /nowhere: exit status 128: fatal:") {
		t.Errorf("error = %v, want the command and what it said", err)
	}
	writeScript(t, filepath.Join(filepath.Dir(repo), "bin", "git"), `head -c 100000 /dev/zero | tr '\0' x; echo end; exit 3`)
	path := os.Getenv("PATH")
	t.Setenv("PATH", filepath.Join(filepath.Dir(repo), "bin")+":"+path)
	_, err = run(t.Context(), repo, "status")
	if !errors.As(err, &e) || len(e.Output) != session.TailLimit || !strings.HasSuffix(e.Output, "xend") {
		t.Errorf("%d bytes of output are kept, want the last %d", len(e.Output), session.TailLimit)
	}
	t.Setenv("PATH", repo)
	if _, err := AddWorktree(t.Context(), repo, repo+"2", "x", ""); !errors.Is(err, ErrNotInstalled) {
		t.Errorf("without git: %v, want ErrNotInstalled", err)
	}
}

// No program of the repository's choice runs but the hook of a new worktree.
func TestRunsNothingForeign(t *testing.T) {
	repo := newRepo(t)
	dir := filepath.Dir(repo)
	mark := func(name string) string { return filepath.Join(dir, "ran-"+name) }
	writeScript(t, filepath.Join(dir, "monitor"), "touch '"+mark("fsmonitor")+"'")
	git(t, repo, "config", "core.fsmonitor", filepath.Join(dir, "monitor"))
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
		writeScript(t, filepath.Join(repo, ".git", "hooks", hook), "touch '"+mark(hook)+"'")
	}
	tree := filepath.Join(dir, "tree")
	if _, err := AddWorktree(t.Context(), repo, tree, "x", ""); err != nil {
		t.Fatal(err)
	}
	if gone(mark("post-checkout")) {
		t.Error("the post-checkout hook did not run for a new worktree")
	}
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction"} {
		os.Remove(mark(hook))
	}
	write(t, filepath.Join(tree, "a.txt"), "two\n")
	_, _, err1 := CountChanges(t.Context(), Here(tree), Base{Name: "main", Commit: "main"})
	_, err2 := AtRisk(t.Context(), tree, repo)
	_, err3 := Worktrees(t.Context(), repo)
	write(t, filepath.Join(tree, "a.txt"), "one\n")
	err4 := RemoveWorktree(t.Context(), repo, tree)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"fsmonitor", "post-checkout", "post-index-change", "reference-transaction"} {
		if !gone(mark(what)) {
			t.Errorf("%s ran", what)
		}
	}
}
