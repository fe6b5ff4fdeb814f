package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lossRuns is how many random states are tried for each kind of workspace.
const lossRuns = 15

// TestNothingIsLost: whatever the state of a workspace is, removing it loses no
// object and no file that git does not ignore, or the workspace stays as it was
// and the error names it with the reason.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"worktree", "clone", "clone apart"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			removed, kept := 0, map[string]int{}
			for seed := range uint64(lossRuns) {
				s := newScene(t, kind, rand.New(rand.NewPCG(seed, uint64(len(kind)))))
				if seed%3 == 0 {
					s.alone(seed)
				} else {
					s.play()
				}
				err := s.removeAndCheck()
				if err == nil {
					removed++
				}
				if risky := (*RiskError)(nil); errors.As(err, &risky) {
					kept[risky.Risk.String()]++
				}
				if t.Failed() {
					t.Fatalf("seed %d:\n  %s\nerror: %v", seed, strings.Join(s.did, "\n  "), err)
				}
			}
			if removed < 3 || len(kept) < 3 {
				t.Errorf("%d were removed, and kept for %v: too little to tell", removed, kept)
			}
		})
	}
}

// scene is a workspace on which things happen at random.
type scene struct {
	t               *testing.T
	rnd             *rand.Rand
	kind, repo, top string
	lib             string   // a repository elsewhere
	places          []string // checkouts, the top first
	did             []string
	n               int
}

func newScene(t *testing.T, kind string, rnd *rand.Rand) *scene {
	s := &scene{t: t, rnd: rnd, kind: kind, repo: newRepo(t)}
	dir := filepath.Dir(s.repo)
	s.lib, s.top = filepath.Join(dir, "lib"), filepath.Join(dir, "ws", "api")
	git(t, dir, "init", "-q", s.lib)
	commit(t, s.lib, "lib")
	write(t, s.lib+"/l.txt", "one\n")
	commit(t, s.lib, "lib 2")
	git(t, s.repo, "config", "gc.auto", "0")
	if rnd.IntN(3) == 0 {
		git(t, s.repo, "submodule", "--quiet", "add", s.lib, "sub")
	}
	write(t, s.repo+"/b.txt", "one\n")
	commit(t, s.repo, "second")
	var err error
	if kind == "worktree" {
		_, err = AddWorktree(t.Context(), s.repo, s.top, "agents/api", "")
	} else {
		_, err = AddClone(t.Context(), s.repo, s.top, "agents/api", "", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.places = []string{s.top}
	return s
}

// play does up to eight things.
func (s *scene) play() {
	for range s.rnd.IntN(8) {
		s.n++
		at := s.places[s.rnd.IntN(len(s.places))]
		if gone(at) {
			continue
		}
		step := steps[s.rnd.IntN(len(steps))]
		s.did = append(s.did, step.name+" in "+at)
		step.do(s, at)
	}
	if s.kind != "worktree" && s.rnd.IntN(4) > 0 {
		s.fetch()
	}
}

// alone makes a state that one check alone can see: where more has happened, another
// check keeps the workspace.
func (s *scene) alone(seed uint64) {
	s.did = append(s.did, "one thing alone")
	s.n++
	if s.kind == "worktree" { // a commit that only the reflog of the worktree's HEAD has
		s.try(s.top, "switch", "-q", "--detach")
		s.commit(s.top)
		s.try(s.top, "switch", "-q", "agents/api")
		return
	}
	path := fmt.Sprint(s.top, "-last") // a worktree of the clone, outside it or inside
	if seed%2 == 1 {
		path = filepath.Join(s.top, "ignored", "last")
	}
	s.try(s.top, "worktree", "add", "-q", "--detach", path)
	s.put(path)
	s.try(path, "add", "b.txt")
	s.put(path) // the file as it was staged is in the repository alone
	s.add(path)
}

// fetch brings all branches of the clone into the repository, as people do.
func (s *scene) fetch() {
	out, _ := tryGit(s.top, "for-each-ref", "--format=%(refname:short)", "refs/heads")
	for branch := range strings.FieldsSeq(out) {
		_, err := Fetch(s.t.Context(), s.repo, s.top, branch, "refs/agentform/api/"+branch)
		s.did = append(s.did, fmt.Sprintf("fetch %s: %v", branch, err))
	}
}

// try runs git where it may fail: what state it leaves is all the same.
func (s *scene) try(dir string, args ...string) { _, _ = tryGit(dir, args...) }

// text is a content that is nowhere else.
func (s *scene) text() string { return fmt.Sprintf("text %d of %d\n", s.n, s.rnd.Uint64()) }

// put changes the first file of a checkout.
func (s *scene) put(at string) { write(s.t, at+"/b.txt", s.text()) }

// commit commits a change.
func (s *scene) commit(at string, args ...string) {
	s.put(at)
	s.try(at, append([]string{"commit", "-q", "-m", s.text(), "b.txt"}, args...)...)
	if out, _ := tryGit(at, "status", "--porcelain", "b.txt"); strings.HasPrefix(out, "??") {
		s.try(at, "add", "b.txt")
		s.try(at, "commit", "-q", "-m", s.text())
	}
}

// inside is a new path below a checkout, in a directory that git ignores or not.
func (s *scene) inside(at string) string {
	return filepath.Join(at, []string{"ignored", "ignored/deep", "seen"}[s.rnd.IntN(3)], fmt.Sprint("n", s.n))
}

func (s *scene) add(path string) {
	if !gone(path) {
		s.places = append(s.places, path)
	}
}

var steps = []struct {
	name string
	do   func(s *scene, at string)
}{
	{"edit", func(s *scene, at string) { s.put(at) }},
	{"stage", func(s *scene, at string) { s.put(at); s.try(at, "add", "b.txt") }},
	{"stage, then put back", func(s *scene, at string) {
		s.put(at)
		s.try(at, "add", "b.txt")
		s.try(at, "show", "HEAD:b.txt")
		write(s.t, at+"/b.txt", "one\n")
	}},
	{"new file", func(s *scene, at string) { write(s.t, fmt.Sprint(at, "/new", s.n), s.text()) }},
	{"ignored file", func(s *scene, at string) { write(s.t, at+"/ignored/plain", s.text()) }},
	{"commit", func(s *scene, at string) { s.commit(at) }},
	{"commit", func(s *scene, at string) { s.commit(at) }},
	{"amend", func(s *scene, at string) { s.commit(at, "--amend") }},
	{"reset", func(s *scene, at string) { s.try(at, "reset", "-q", "--hard", "HEAD~1") }},
	{"detached commit and back", func(s *scene, at string) {
		s.try(at, "switch", "-q", "--detach")
		s.commit(at)
		s.try(at, "switch", "-q", "-")
	}},
	{"detach", func(s *scene, at string) { s.try(at, "switch", "-q", "--detach"); s.commit(at) }},
	{"skip-worktree", func(s *scene, at string) { s.try(at, "update-index", "--skip-worktree", "b.txt"); s.put(at) }},
	{"assume-unchanged", func(s *scene, at string) { s.try(at, "update-index", "--assume-unchanged", "b.txt"); s.put(at) }},
	{"mark", func(s *scene, at string) { s.try(at, "update-index", "--skip-worktree", "b.txt") }},
	{"split index", func(s *scene, at string) { s.try(at, "update-index", "--split-index") }},
	{"stash", func(s *scene, at string) { s.put(at); s.try(at, "stash") }},
	{"two stashes, one dropped", func(s *scene, at string) {
		s.put(at)
		s.try(at, "stash")
		s.put(at)
		s.try(at, "stash")
		s.try(at, "stash", "drop")
	}},
	{"branch", func(s *scene, at string) { s.try(at, "switch", "-q", "-c", fmt.Sprint("b", s.n)); s.commit(at) }},
	{"back to the branch", func(s *scene, at string) { s.try(at, "switch", "-q", "agents/api") }},
	{"delete a branch", func(s *scene, at string) { s.try(at, "branch", "-D", fmt.Sprint("b", s.n-1), fmt.Sprint("b", s.n-2)) }},
	{"branch vanishes", func(s *scene, at string) { s.try(at, "update-ref", "-d", "refs/heads/agents/api") }},
	{"tag", func(s *scene, at string) { s.try(at, "tag", "-a", "-m", s.text(), fmt.Sprint("t", s.n)) }},
	{"pack", func(s *scene, at string) { s.try(at, "pack-refs", "--all"); s.try(at, "repack", "-adq") }},
	{"conflict", func(s *scene, at string) {
		s.try(at, "switch", "-q", "-c", fmt.Sprint("theirs", s.n), "HEAD~1")
		s.commit(at)
		s.try(at, "switch", "-q", "-")
		s.commit(at)
		s.try(at, []string{"merge", "rebase", "cherry-pick"}[s.rnd.IntN(3)], fmt.Sprint("theirs", s.n))
	}},
	{"worktree", func(s *scene, at string) {
		path := s.inside(at)
		s.try(at, "worktree", "add", "-q", "-b", fmt.Sprint("w", s.n), path)
		s.add(path)
	}},
	{"worktree, detached", func(s *scene, at string) {
		path := s.inside(at)
		s.try(at, "worktree", "add", "-q", "--detach", path)
		s.add(path)
	}},
	{"worktree elsewhere", func(s *scene, at string) {
		path := fmt.Sprint(s.top, "-out", s.n)
		s.try(at, "worktree", "add", "-q", "-b", fmt.Sprint("o", s.n), path)
		s.add(path)
	}},
	{"worktree of another repository", func(s *scene, at string) {
		path := s.inside(at)
		s.try(s.lib, "worktree", "add", "-q", "-b", fmt.Sprint("l", s.n), path)
		s.add(path)
	}},
	{"a worktree's folder goes", func(s *scene, at string) {
		if at != s.top {
			s.did = append(s.did, fmt.Sprint(os.RemoveAll(at)))
		}
	}},
	{"stage, and the worktree's folder goes", func(s *scene, at string) {
		if at != s.top {
			s.put(at)
			s.try(at, "add", "b.txt")
			s.did = append(s.did, fmt.Sprint(os.RemoveAll(at)))
		}
	}},
	{"lock", func(s *scene, at string) { s.try(s.top, "worktree", "lock", at) }},
	{"repository", func(s *scene, at string) {
		path := s.inside(at)
		s.try(s.repo, "init", "-q", path)
		s.commit(path)
		s.add(path)
	}},
	{"clone of another repository", func(s *scene, at string) {
		path := s.inside(at)
		s.try(s.repo, "clone", "-q", s.lib, path)
		s.add(path)
	}},
	{"bare repository", func(s *scene, at string) { s.try(s.repo, "clone", "-q", "--mirror", at, s.inside(at)+".git") }},
	{"clone of this one, pushed to", func(s *scene, at string) {
		path := s.inside(at)
		s.try(s.repo, "clone", "-q", at, path)
		s.commit(path)
		s.try(path, "push", "-q", "origin", "HEAD:refs/heads/pushed")
		s.add(path)
	}},
	{"submodule", func(s *scene, at string) {
		s.try(at, "submodule", "update", "--init")
		if !gone(at + "/sub/.git") {
			s.add(at + "/sub")
		}
	}},
	{"deinit", func(s *scene, at string) { s.try(at, "submodule", "deinit", "-f", "sub") }},
	{"work tree elsewhere", func(s *scene, at string) { s.try(at, "config", "core.worktree", s.lib) }},
	{"hidden submodules", func(s *scene, at string) { s.try(at, "config", "submodule.sub.ignore", "all") }},
}

// removeAndCheck removes the workspace and fails the test if anything is lost.
func (s *scene) removeAndCheck() error {
	s.t.Helper()
	files, objects := s.contents(), s.objects()
	before := s.listing()
	var err error
	switch s.kind {
	case "worktree":
		err = RemoveWorktree(s.t.Context(), s.repo, s.top)
	case "clone":
		err = RemoveClone(s.t.Context(), s.top, s.repo, Here(s.top))
	default:
		err = RemoveClone(s.t.Context(), s.top, s.repo, func(ctx context.Context, args ...string) (string, error) {
			return run(ctx, s.top, ArgsElsewhere(args...)...)
		})
	}
	if err != nil {
		if after := s.listing(); after != before {
			s.t.Errorf("it was kept, and changed from\n%s\nto\n%s", before, after)
		}
		if !strings.Contains(err.Error(), s.top) {
			s.t.Errorf("the error does not name it: %v", err)
		}
		return err
	}
	if !gone(s.top) {
		s.t.Error("it still exists")
	}
	after := s.objects()
	for object, what := range objects {
		if after[object] == "" {
			s.t.Errorf("lost: %s", what)
		}
	}
	for blob, what := range files {
		if after[blob] == "" {
			if _, err := os.Lstat(what); err != nil {
				s.t.Errorf("lost: %s", what)
			}
		}
	}
	return nil
}

// listing is every file below the workspace but those that any look renews.
func (s *scene) listing() string {
	var b strings.Builder
	_ = filepath.WalkDir(s.top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			fmt.Fprintln(&b, path)
		}
		return err
	})
	return b.String()
}

// contents are the files of all checkouts that git does not ignore, by the names
// of their blobs.
func (s *scene) contents() map[string]string {
	all := map[string]string{}
	for _, at := range s.places {
		out, err := tryGit(at, "--work-tree=.", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
		if err != nil {
			continue // it is gone
		}
		for name := range strings.SplitSeq(out, "\x00") {
			path := filepath.Join(at, name)
			if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() {
				all[git(s.t, s.repo, "hash-object", "--no-filters", path)] = path
			}
		}
	}
	return all
}

// objects are those that refs, reflogs and indexes hold in any repository there
// is. Trees are not told: git makes them of what is in an index.
func (s *scene) objects() map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(filepath.Dir(s.repo), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || gone(path+"/HEAD") || !isStore(path) {
			return nil
		}
		out, err := tryGit(s.repo, "--git-dir="+path, "rev-list", "--objects", "--all", "--reflog", "--indexed-objects")
		if err != nil {
			s.t.Errorf("objects of %s: %v: %s", path, err, out)
			return nil
		}
		var names []string
		for line := range strings.Lines(out) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); isCommit(name) {
				names = append(names, name)
			}
		}
		types, err := feed(s.t.Context(), s.repo, strings.Join(names, "\n")+"\n", "--git-dir="+path, "cat-file", "--batch-check")
		if err != nil {
			s.t.Error(err)
		}
		for line := range strings.Lines(types) {
			if f := strings.Fields(line); len(f) == 3 && f[1] != "tree" {
				all[f[0]] = f[1] + " " + f[0] + " of " + path
			}
		}
		return nil
	})
	return all
}
