package conflicts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// project is a repository with a worktree for each session.
type project struct {
	testing.TB
	repo, data string
	names      []string
	landed     map[string]string // commits, by session
}

func newProject(t testing.TB, names ...string) *project {
	dir := t.TempDir()
	p := &project{TB: t, repo: filepath.Join(dir, "repo"), data: filepath.Join(dir, "data"), names: names, landed: map[string]string{}}
	for _, d := range []string{p.repo, p.data} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.git(p.repo, "init", "-q", "-b", "main")
	p.git(p.repo, "config", "user.name", "t")
	p.git(p.repo, "config", "user.email", "t@example.invalid")
	p.write("repo", "list", lines(""))
	p.write("repo", "other", lines(""))
	p.write("repo", ".gitignore", "ignored\n")
	p.commit("repo")
	for _, name := range names {
		p.git(p.repo, "worktree", "add", "-q", "-b", name, p.dir(name))
	}
	return p
}

// lines returns ten lines, the first of them with a text.
func lines(first string) string {
	text := first + "\n"
	for i := range 9 {
		text += fmt.Sprintln(i)
	}
	return text
}

func (p *project) dir(name string) string { return filepath.Join(filepath.Dir(p.repo), name) }

func (p *project) git(dir string, args ...string) string {
	p.Helper()
	c := exec.Command("git", args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		p.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (p *project) write(in, name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir(in), name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *project) commit(in string) {
	p.Helper()
	p.git(p.dir(in), "add", "-A")
	p.git(p.dir(in), "commit", "-q", "-m", "work")
}

func (p *project) works(counter *changes.Counter) (all []Work) {
	p.Helper()
	for _, name := range p.names {
		path := p.dir(name)
		w := changes.Workspace{Checkout: git.Look(path), Repo: p.repo, Branch: name, Git: git.Here(path), Here: true}
		counter.Refresh(p.Context(), true, w)
		all = append(all, Work{session.Address("session." + name), w, nil, p.landed[name]})
	}
	return Counted(counter, all)
}

// look counts, and returns what a new finder says, as a command does.
func (p *project) look() string {
	p.Helper()
	all := p.works(changes.NewCounter(p.data))
	f := NewFinder(p.data)
	f.Refresh(p.Context(), all)
	if NewFinder(p.data).Refresh(p.Context(), all) {
		p.Error("what nothing has changed was found once more")
	}
	return written(NewFinder(p.data).Known(all))
}

func written(known map[session.Address][]Conflict) string {
	var all []string
	for address, of := range known {
		for _, c := range of {
			with := c.Base
			if with == "" {
				with = c.With.Short()
			}
			all = append(all, fmt.Sprintf("%s-%s:%s", address.Short(), with, strings.Join(c.Files, ",")))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (p *project) check(why, want string) {
	p.Helper()
	if got := p.look(); got != want {
		p.Errorf("%s: %s, want %s", why, got, want)
	}
}

func TestFinder(t *testing.T) {
	p := newProject(t, "a", "b", "c")
	p.check("nobody has done anything", "")
	p.write("a", "list", lines("of a"))
	p.check("one has", "")
	p.write("b", "list", lines("of b"))
	p.check("neither is committed", "a-b:list b-a:list")
	p.commit("a")
	p.check("one is", "a-b:list b-a:list")
	p.commit("b")
	p.check("both are", "a-b:list b-a:list")
	p.write("c", "new", "of c\n")
	p.check("what is new conflicts with nothing", "a-b:list b-a:list")
	p.write("a", "new", "of a\n")
	p.write("a", "ignored", "1\n")
	p.write("c", "ignored", "2\n")
	p.check("what is untracked counts, what is ignored does not", "a-b:list a-c:new b-a:list c-a:new")
	p.git(p.dir("a"), "clean", "-fdq")
	p.check("it is removed again", "a-b:list b-a:list")
	p.git(p.dir("b"), "reset", "-q", "--hard", "main")
	p.check("one has given up", "")
}

// Work that conflicts with its base is compared with no other, and work that lacks commits of
// it as if it had them.
func TestBase(t *testing.T) {
	p := newProject(t, "a", "b", "c")
	p.write("a", "list", lines("of a"))
	p.commit("a")
	p.write("b", "other", lines("of b"))
	p.write("repo", "list", lines("of main"))
	p.commit("repo")
	p.check("it conflicts with the base", "a-main:list")
	p.git(p.dir("c"), "merge", "-q", "main")
	p.write("c", "other", lines("of c"))
	p.check("so does not who has the base; one lacks it", "a-main:list b-c:other c-b:other")
	p.git(p.repo, "update-ref", "refs/remotes/origin/main", "main")
	p.git(p.repo, "reset", "-q", "--hard", "main^")
	p.check("the base is not pulled", "a-origin/main:list b-c:other c-b:other")
	p.git(p.dir("a"), "merge", "-q", "-X", "ours", "origin/main")
	p.check("it has merged what was fetched", "b-c:other c-b:other")
}

func TestLandedWorkConflictsWithNothing(t *testing.T) {
	p := newProject(t, "a", "b")
	for _, name := range p.names {
		p.write(name, "list", lines("of "+name))
		p.commit(name)
	}
	p.git(p.repo, "merge", "-q", "--squash", "a")
	p.git(p.repo, "commit", "-q", "-m", "a")
	p.landed["a"] = p.git(p.dir("a"), "rev-parse", "HEAD")
	p.check("a has landed squashed", "b-main:list")
	p.write("a", "other", "more\n")
	p.check("it has new work", "b-main:list")
}

// Histories without a common commit cannot be merged, and nothing else is lost by that.
func TestUnrelatedHistories(t *testing.T) {
	p := newProject(t, "a", "b", "c")
	p.git(p.dir("a"), "checkout", "-q", "--orphan", "x")
	p.write("a", "list", lines("of a"))
	p.commit("a")
	for _, name := range []string{"b", "c"} {
		p.write(name, "list", lines("of "+name))
	}
	if got := p.look(); !strings.Contains(got, "b-c:list c-b:list") {
		t.Error(got)
	}
}

// Looking changes nothing in the repository or its checkouts, and what is lost is found again.
func TestNothingIsWritten(t *testing.T) {
	p := newProject(t, "a", "b")
	p.write("a", "list", lines("of a"))
	p.write("a", "untracked", lines("of a"))
	p.write("b", "list", lines("of b"))
	p.commit("b")
	p.write("b", "other", lines("of b"))
	p.git(p.dir("b"), "add", "other")
	p.write("repo", "more", "")
	p.commit("repo")
	p.git(p.repo, "status") // refreshes the index
	all := func() string {
		return p.git(p.repo, "count-objects") + p.git(p.repo, "for-each-ref") + p.git(p.dir("a"), "status", "--short") + p.git(p.dir("b"), "status", "--short")
	}
	before := all()
	p.check("with its base", "a-b:list b-a:list")
	if after := all(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	if err := os.RemoveAll(filepath.Join(p.data, dirName)); err != nil {
		t.Fatal(err)
	}
	p.check("its commits are lost", "a-b:list b-a:list")
	if err := os.WriteFile(filepath.Join(p.data, fileName), []byte(`{"tables":{"x":null},"works":{`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.check("its file is damaged", "a-b:list b-a:list")
}

// BenchmarkRefresh finds the conflicts of 50 branches in a repository with a thousand files, when
// all was counted again and the base has moved, and when nothing has changed.
func BenchmarkRefresh(b *testing.B) {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprint("b", i))
	}
	p := newProject(b)
	for i := range 1000 {
		p.write("repo", fmt.Sprint("file", i), lines(""))
	}
	p.commit("repo")
	p.names = names
	for i, name := range names {
		p.git(p.repo, "worktree", "add", "-q", "-b", name, p.dir(name))
		for n := range 5 {
			p.write(name, fmt.Sprint("file", 10*i+n), lines(name))
		}
		p.write(name, fmt.Sprint("file", 990+i%5), lines(name))
		if i%2 == 0 {
			p.commit(name)
		}
	}
	counter := changes.NewCounter(p.data)
	moves := 0
	b.Run("moved", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			moves++
			p.write("repo", "moves", fmt.Sprint(moves))
			p.commit("repo")
			all := p.works(counter)
			f := NewFinder(p.data)
			b.StartTimer()
			if !f.Refresh(b.Context(), all) {
				b.Fatal("nothing was found")
			}
		}
	})
	all := p.works(counter)
	NewFinder(p.data).Refresh(b.Context(), all)
	b.Run("unchanged", func(b *testing.B) {
		for range b.N {
			f := NewFinder(p.data)
			if f.Refresh(b.Context(), all) || len(f.Known(all)) != 50 {
				b.Fatal("something was found")
			}
		}
	})
}

func TestApart(t *testing.T) {
	of := func(paths ...string) work { return work{Tip: "t", Paths: paths} }
	for name, c := range map[string]struct {
		a, b work
		want bool
	}{
		"other files":               {of("a", "d/x"), of("b", "d/y"), true},
		"one file":                  {of("a", "d/x"), of("b", "d/x"), false},
		"a directory of the other":  {of("d"), of("d/x"), false},
		"a directory above":         {of("d"), of("d/e/x"), false},
		"the same, the other way":   {of("d/e/x"), of("d"), false},
		"another base":              {of("a"), work{Tip: "u", Paths: []string{"b"}}, false},
		"many or renamed":           {of("a"), of(), false},
		"no base":                   {work{Paths: []string{"a"}}, work{Paths: []string{"b"}}, false},
		"names that begin the same": {of("d"), of("d.go", "dd/x"), true},
	} {
		if got := apart(c.a, c.b); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if got := apart(c.b, c.a); got != c.want {
			t.Errorf("%s, swapped: %t", name, got)
		}
	}
}

// What is found of random work is what git finds that merges each pair.
func TestRandomWork(t *testing.T) {
	conflicts := 0
	for seed := range uint64(4) {
		rnd := rand.New(rand.NewPCG(3, seed))
		names := []string{"a", "b", "c", "d", "e", "f"}
		p := newProject(t)
		p.git(p.dir("repo"), "mv", "other", "moves")
		p.write("repo", "list", lines("base"))
		p.commit("repo")
		p.names = names
		for _, name := range names {
			p.git(p.repo, "worktree", "add", "-q", "-b", name, p.dir(name))
			for range 1 + rnd.IntN(3) {
				switch file := []string{"list", "moves", "new", "d"}[rnd.IntN(4)]; rnd.IntN(5) {
				case 0:
					_ = os.RemoveAll(filepath.Join(p.dir(name), file))
				case 1:
					_ = os.Rename(filepath.Join(p.dir(name), file), filepath.Join(p.dir(name), "renamed"))
				case 2:
					_ = os.RemoveAll(filepath.Join(p.dir(name), file))
					if err := os.Mkdir(filepath.Join(p.dir(name), file), 0o700); err != nil {
						t.Fatal(err)
					}
					p.write(name, file+"/x", lines(name))
				default:
					_ = os.RemoveAll(filepath.Join(p.dir(name), file))
					p.write(name, file, lines(fmt.Sprint(rnd.IntN(3))))
				}
			}
			p.git(p.dir(name), "add", "-A")
			p.git(p.dir(name), "commit", "-q", "--allow-empty", "-m", "work")
		}
		got := " " + p.look()
		for i, a := range names {
			for _, b := range names[:i] {
				c := exec.Command("git", "merge-tree", "--write-tree", a, b)
				c.Dir = p.repo
				err := c.Run()
				if is := strings.Contains(got, fmt.Sprintf(" %s-%s:", a, b)); is != (err != nil) {
					t.Errorf("%d: %s and %s: found %t, git: %v", seed, a, b, is, err)
				}
				if err != nil {
					conflicts++
				}
			}
		}
	}
	if conflicts == 0 {
		t.Error("nothing conflicts")
	}
}
