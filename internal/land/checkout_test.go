package land

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/session"
)

// project is a repository whose main is checked out, and a session's worktree of it.
type project struct {
	t          *testing.T
	repo, work string
	lander     Lander
}

// newProject makes a project in which a shell has done something in both checkouts, and
// committed it.
func newProject(t *testing.T, base, onMain, onBranch string) *project {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", top)
	t.Setenv("XDG_CONFIG_HOME", top)
	p := &project{t: t, repo: filepath.Join(top, "repo"), work: filepath.Join(top, "work")}
	p.sh(top, "git config --global user.name Ann; git config --global user.email ann@example.invalid; git init -q -b main repo")
	p.sh(p.repo, base+"; git add .; git commit -q --allow-empty -m base; git worktree add -q -b agents/api ../work")
	p.sh(p.repo, onMain+"; git add .; git commit -q --allow-empty -m main")
	p.sh(p.work, onBranch+"; git add .; git commit -q --allow-empty -m api")
	p.lander = Lander{
		Record: session.Record{Address: "session.api", Tree: session.WorkspaceState{Mode: session.Worktree, Repo: p.repo, Path: p.work, Branch: "agents/api", Created: true}},
		Ref:    "refs/agentform/api/agents/api", Dir: filepath.Join(top, "land"), Environ: environ.Vars(os.Environ()),
		LockWait: time.Minute,
		Sessions: func(string) (session.Address, session.Activity) { return "", "" },
	}
	return p
}

func (p *project) sh(dir, script string) string {
	p.t.Helper()
	c := exec.Command("sh", "-e", "-c", script)
	c.Dir, c.Env = dir, append(os.Environ(), "GIT_OPTIONAL_LOCKS=0") // git status renews no index
	out, err := c.CombinedOutput()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

func (p *project) land(q Request) error {
	_, err := p.lander.Land(p.t.Context(), q, func(Step) {})
	return err
}

// dryRun returns what a dry run says.
func (p *project) dryRun(q Request) error {
	f, err := p.lander.Look(p.t.Context(), q)
	if err == nil {
		_, err = Decide(f, q)
	}
	return err
}

// status is that of the checkout of the base, with a line for each file.
func (p *project) status() string {
	p.t.Helper()
	if out := p.sh(p.repo, "git status --porcelain --no-renames --untracked-files=all"); out != "" {
		return out + "\n"
	}
	return ""
}

// foreseen is the tree of the base with the work.
func (p *project) foreseen() string {
	p.t.Helper()
	return p.sh(p.repo, "git merge-tree --write-tree main agents/api")
}

// files returns the files of both checkouts, with their contents.
func (p *project) files() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	for _, top := range []string{p.repo, p.work} {
		err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Name() == ".git" && e.IsDir() {
				return fs.SkipDir
			}
			if err != nil || e.IsDir() {
				return err
			}
			fi, err := e.Info()
			text, _ := os.ReadFile(path)
			if e.Type() == fs.ModeSymlink {
				to, _ := os.Readlink(path)
				text = []byte(to)
			}
			all[path] = fmt.Sprint(fi.Mode(), " ", string(text))
			return err
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
	return all
}

// state is files, with the index and what git knows.
func (p *project) state() map[string]string {
	p.t.Helper()
	all := p.files()
	for _, name := range []string{"index", "worktrees/work/index"} {
		text, err := os.ReadFile(filepath.Join(p.repo, ".git", name))
		if err != nil {
			p.t.Fatal(err)
		}
		all[name] = string(text)
	}
	all["branches"] = p.sh(p.repo, "git for-each-ref refs/heads; git worktree list --porcelain; git stash list; cat .git/HEAD")
	return all
}

var methods = []Method{Merge, Squash, Rebase}

// What is not committed in a checkout of the base stays as it is, where the landing changes
// other files.
func TestLandKeepsUncommittedWork(t *testing.T) {
	for _, method := range methods {
		p := newProject(t, "for f in a b c d e f; do echo 1 >$f; done; echo ignored >.gitignore", "echo 2 >b", "echo 2 >a; echo 2 >new; git rm -q f")
		p.sh(p.repo, "echo 3 >c; echo 3 >d; git add d; echo 3 >staged; git add staged; echo 4 >staged; rm e; mkdir -p u; echo 3 >u/untracked; echo 3 >ignored; chmod +x b")
		want, tree, status := p.files(), p.foreseen(), p.sh(p.repo, "git status --porcelain")
		for name, text := range map[string]string{"a": "2\n", "new": "2\n", "f": ""} {
			if want[filepath.Join(p.repo, name)] = want[filepath.Join(p.work, name)]; text == "" {
				delete(want, filepath.Join(p.repo, name))
			}
		}
		if err := p.dryRun(Request{Method: method}); err != nil {
			t.Errorf("%s, dry run: %v", method, err)
		}
		if err := p.land(Request{Method: method}); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		if got := p.sh(p.repo, "git rev-parse main^{tree}"); got != tree {
			t.Errorf("%s: main has the tree %s, not %s", method, got, tree)
		}
		if got := p.sh(p.repo, "git status --porcelain"); got != status {
			t.Errorf("%s: status was\n%s\nand is\n%s", method, status, got)
		}
		if got := p.files(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: files are\n%q\nnot\n%q", method, got, want)
		}
	}
}

// Where files meet, they are named, a dry run says the same, and nothing is changed.
func TestLandRefusesWhereFilesMeet(t *testing.T) {
	for name, x := range map[string]struct {
		dirty, uncommitted string // in the checkout of the base, and in the workspace
		files              []string
		why                string
	}{
		"changed":    {"echo 3 >a; echo 3 >b", "", []string{"a"}, "where landing would overwrite uncommitted work in 1 file"},
		"staged":     {"echo 3 >a; echo 3 >c; git add a c", "", []string{"a", "c"}, "uncommitted work in 2 files"},
		"untracked":  {"echo 3 >new", "", []string{"new"}, "uncommitted work in 1 file"},
		"marked":     {"git update-index --skip-worktree a; echo 3 >a", "", []string{"a"}, "git status hides"},
		"to come":    {"echo 3 >b; echo 3 >later", "echo 4 >b; echo 4 >later", []string{"b", "later"}, "uncommitted work in 2 files"},
		"bisecting":  {"git bisect start -q", "", nil, "where a bisect is in progress"},
		"unresolved": {"git reset -q --hard HEAD~2; echo 3 >b; git stash -q; git merge -q --ff-only keep; git stash pop -q || true", "", []string{"b"}, "with unresolved conflicts"},
	} {
		p := newProject(t, "for f in a b c; do echo 1 >$f; done", "echo 2 >b; git commit -q -a -m two; git branch keep", "echo 2 >a; echo 2 >new; git rm -q c")
		p.sh(p.repo, x.dirty)
		p.sh(p.work, cmp.Or(x.uncommitted, ":"))
		before := p.state()
		for _, method := range methods {
			q := Request{Method: method, Commit: "later"}
			foreseen, err := p.dryRun(q), p.land(q)
			var refusal *Refusal
			if !errors.As(err, &refusal) || !slices.Equal(refusal.Files, x.files) || !strings.Contains(err.Error(), x.why) || refusal.Next == "" {
				t.Errorf("%s, %s: %v", name, method, err)
			}
			if fmt.Sprint(foreseen) != fmt.Sprint(err) {
				t.Errorf("%s, %s: the dry run said: %v", name, method, foreseen)
			}
			if after := p.state(); !reflect.DeepEqual(after, before) {
				t.Errorf("%s, %s: from\n%q\nto\n%q", name, method, before, after)
			}
		}
	}
}

// instead makes a program that is found as git: it runs a script, and then the real git.
func instead(t *testing.T, script string) (undo func()) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	tools, path := t.TempDir(), os.Getenv("PATH")
	executable.Write(t, filepath.Join(tools, "git"), []byte("#!/bin/sh\ngit=\""+real+"\"\n"+script+"\nexec $git \"$@\"\n"), 0o755)
	t.Setenv("PATH", tools+string(filepath.ListSeparator)+path)
	return func() { t.Setenv("PATH", path) }
}

// A file that somebody changes just before git moves the checkout is kept, and named.
func TestLandRefusesWhatChangesMeanwhile(t *testing.T) {
	for edit, file := range map[string]string{"echo 3 >a": "a", "echo 3 >new": "new", "echo 3 >a; $git add a": "a", "echo 3 >c": "c", "chmod +x a": "a"} {
		p := newProject(t, "for f in a b c; do echo 1 >$f; done", ":", "echo 2 >a; echo 2 >new; git rm -q c")
		before := p.state()
		undo := instead(t, `case "$*" in *--ff-only*) `+edit+"; cp .git/index ../index; esac")
		err := p.land(Request{Method: Squash})
		undo()
		var refusal *Refusal
		if !errors.As(err, &refusal) || !slices.Equal(refusal.Files, []string{file}) {
			t.Errorf("%s: %v", edit, err)
		}
		after := p.state()
		if text, err := os.ReadFile(filepath.Join(p.repo, "..", "index")); err != nil || string(text) != after["index"] {
			t.Errorf("%s: the index changed, %v", edit, err)
		}
		edited := filepath.Join(p.repo, file)
		if after[edited] == before[edited] || strings.Contains(after[edited], "2") {
			t.Errorf("%s: it is lost: %q", edit, after[edited])
		}
		for _, name := range []string{edited, "index"} {
			after[name], before[name] = "", ""
		}
		if !reflect.DeepEqual(after, before) {
			t.Errorf("%s: from\n%q\nto\n%q", edit, before, after)
		}
		p.sh(p.repo, "git reset -q --hard; rm -f new")
		if err := p.land(Request{Method: Squash}); err != nil {
			t.Errorf("%s: landed again: %v", edit, err)
		}
	}
}

// A git that cannot merge without a checkout says what meets when the work is merged, and
// before anything is moved.
func TestLandWithAnOlderGit(t *testing.T) {
	p := newProject(t, "for f in a b c; do echo 1 >$f; done", "echo 2 >c", "echo 2 >a")
	p.sh(p.repo, "rm a; echo 3 >b")
	before := p.state()
	undo := instead(t, `case "$*" in *merge-tree*) exit 129; esac`)
	defer undo()
	err := p.land(Request{Method: Merge})
	var refusal *Refusal
	if !errors.As(err, &refusal) || !slices.Equal(refusal.Files, []string{"a"}) {
		t.Error(err)
	}
	if after := p.state(); !reflect.DeepEqual(after, before) {
		t.Errorf("from\n%q\nto\n%q", before, after)
	}
	p.sh(p.repo, "git checkout -q a")
	if err := p.land(Request{Method: Merge}); err != nil || p.sh(p.repo, "cat a b") != "2\n3" {
		t.Error(err)
	}
}

// If git dies after it has moved the checkout, and before it moves the branch, the next
// landing finishes that.
func TestLandFinishesWhatGitBegan(t *testing.T) {
	for _, method := range methods {
		p := newProject(t, "for f in a b c; do echo 1 >$f; done", "echo 2 >b", "echo 2 >a; echo 2 >new; git rm -q c")
		p.sh(p.repo, "echo 3 >b; echo 3 >untracked; echo 3 >staged; git add staged")
		status, tree := p.sh(p.repo, "git status --porcelain"), p.foreseen()
		p.sh(p.repo, "git read-tree -m -u main "+tree)
		before := p.files()
		if err := p.land(Request{Method: method}); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		if got := p.sh(p.repo, "git rev-parse main^{tree}; git status --porcelain"); got != tree+"\n"+status {
			t.Errorf("%s: it is\n%s\nnot\n%s\n%s", method, got, tree, status)
		}
		if after := p.files(); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: from\n%q\nto\n%q", method, before, after)
		}
	}
}

// landings is how many cases TestLandLosesNothing tries.
const landings = 12

// Whatever is done on both sides and left uncommitted, a landing either changes nothing, or
// makes the tree that was foreseen and keeps all that was not committed.
func TestLandLosesNothing(t *testing.T) {
	landed, refused := 0, 0
	for n := range landings {
		rnd := rand.New(rand.NewPCG(1, uint64(n)))
		p := newProject(t, "echo ign >.gitignore; "+scribble(rnd, "1", 6), scribble(rnd, "2", 1), scribble(rnd, "3", 3)+"; echo 3 >api")
		dirty := ""
		for range 1 + rnd.IntN(4) {
			dirty += []string{
				"git add .", "git mv -k a b d", "git mv -k c d/y", "git rm -rq --cached --ignore-unmatch a d", "git add -N . ", "test ! -f a || chmod +x a",
				"rm -rf c; ln -s d c", "test ! -d d || { rm -rf c; mv d c; ln -s c d; }", "git update-index --skip-worktree a", "git update-index --assume-unchanged b",
			}[rnd.IntN(10)] + "; " + scribble(rnd, "4", rnd.IntN(3)) + "; "
		}
		p.sh(p.repo, "set +e; "+dirty+":")
		q := Request{Method: methods[rnd.IntN(len(methods))]}
		before, uncommitted := p.state(), p.status()
		tree := p.sh(p.repo, "git merge-tree --write-tree main agents/api | head -n 1")
		foreseen := p.dryRun(q)
		err := p.land(q)
		if fmt.Sprint(err) != fmt.Sprint(foreseen) {
			t.Errorf("%d, %s: %v; the dry run said: %v", n, dirty, err, foreseen)
		}
		after := p.state()
		if err != nil {
			refused++
			if !reflect.DeepEqual(after, before) {
				t.Errorf("%d, %s: %v, and it is no longer\n%q\nbut\n%q", n, dirty, err, before, after)
			}
			continue
		}
		landed++
		now, kept := p.status(), ""
		for line := range strings.Lines(uncommitted) {
			name := strings.TrimSpace(line[2:])
			file := filepath.Join(p.repo, name)
			if after[file] != before[file] {
				t.Errorf("%d, %s: %s was %q and is %q", n, dirty, name, before[file], after[file])
			}
			if !strings.HasPrefix(line, "D ") || p.sh(p.repo, "git cat-file -t HEAD:"+name+" || true") == "blob" { // else it was removed on both sides
				kept += line
			}
		}
		if kept != now {
			t.Errorf("%d, %s: status was\n%s\nand is\n%s", n, dirty, uncommitted, now)
		}
		if got := p.sh(p.repo, "git rev-parse main^{tree}"); got != tree {
			t.Errorf("%d, %s: main has the tree %s, not %s", n, dirty, got, tree)
		}
	}
	if landed == 0 || refused == 0 {
		t.Errorf("%d landed, %d refused", landed, refused)
	}
}

// scribble returns a script that changes files, of which some are directories at other times.
func scribble(rnd *rand.Rand, text string, files int) string {
	script := ":"
	for range files {
		name := []string{"a", "b", "c", "d", "d/x", "d/y", "e/z", "ign"}[rnd.IntN(8)]
		if rnd.IntN(4) == 0 {
			script += "; rm -rf " + name
			continue
		}
		if dir, _, inside := strings.Cut(name, "/"); inside {
			script += fmt.Sprintf("; test ! -f %[1]s || rm %[1]s; mkdir -p %[1]s", dir)
		}
		script += fmt.Sprintf("; rm -rf %s; echo %s >%[1]s", name, text)
	}
	return script
}

// TestRefreshKeepsIgnoredFiles checks that a refresh does not overwrite a file that git ignores in the
// workspace, and that a dry run says so too.
func TestRefreshKeepsIgnoredFiles(t *testing.T) {
	for _, method := range []Method{Merge, Rebase} {
		p := newProject(t, "echo 1 >a", "echo theirs >.env", "echo .env >.gitignore")
		p.sh(p.work, "echo mine >.env")
		before := p.state()
		for _, dryRun := range []bool{true, false} {
			_, err := p.lander.Refresh(p.t.Context(), method, dryRun)
			if refusal := (*Refusal)(nil); !errors.As(err, &refusal) || !slices.Equal(refusal.Files, []string{".env"}) {
				t.Errorf("%s: %v", method, err)
			}
		}
		if after := p.state(); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: from\n%q\nto\n%q", method, before, after)
		}
		p.sh(p.work, "rm .env")
		if done, err := p.lander.Refresh(p.t.Context(), method, false); err != nil || !done.Done || p.sh(p.work, "cat .env") != "theirs" {
			t.Errorf("%s: %+v, %v", method, done, err)
		}
	}
}

// TestUnverifiedResult checks that it is on record that nothing has verified what landed, also if its
// commit was verified before the base had moved.
func TestUnverifiedResult(t *testing.T) {
	for onMain, want := range map[string]bool{":": false, "echo 2 >b": true} {
		p := newProject(t, "echo 1 >a", onMain, "echo 2 >a")
		p.lander.Record.Spec.Verify = session.Verify{Command: []string{"make"}}
		p.lander.Record.Verified = &session.Verified{Commit: p.sh(p.work, "git rev-parse HEAD"), Block: p.lander.Record.Spec.Verify, OK: true}
		done, err := p.lander.Land(t.Context(), Request{Method: Merge, Unverified: true}, func(Step) {})
		if err != nil || done.Unverified != want {
			t.Errorf("%s: unverified is %v, %v", onMain, done.Unverified, err)
		}
	}
}

// TestUncommittedConflict checks that a conflict of what is not committed, also of untracked files,
// refuses a landing and its dry run before anything is committed.
func TestUncommittedConflict(t *testing.T) {
	for name, onMain := range map[string]string{"changed": "echo 2 >a", "untracked": "echo 2 >b"} {
		p := newProject(t, "echo 1 >a", onMain, ":")
		p.sh(p.work, "echo 3 >a; echo 3 >b")
		before := p.sh(p.work, "git status --porcelain")
		for _, do := range []func(Request) error{p.dryRun, p.land} {
			err := do(Request{Method: Merge, Commit: "later"})
			if err == nil || !strings.Contains(err.Error(), "agents/api conflicts with main in 1 file; nothing was changed:") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := p.sh(p.work, "git status --porcelain"); after != before {
			t.Errorf("%s: %s, and before %s", name, after, before)
		}
		p.sh(p.work, "rm b; echo 1 >a; echo 3 >c")
		if err := p.dryRun(Request{Method: Merge, Commit: "later"}); err != nil {
			t.Errorf("%s, without: %v", name, err)
		}
	}
}
