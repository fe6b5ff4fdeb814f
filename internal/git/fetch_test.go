package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFetch(t *testing.T) {
	repo := newRepo(t)
	clone := filepath.Join(filepath.Dir(repo), "clone")
	git(t, repo, "clone", "-q", "--no-hardlinks", repo, clone)
	git(t, clone, "switch", "-q", "-c", "agents/api")
	write(t, filepath.Join(clone, "b.txt"), "two\n")
	commit(t, clone, "work")
	// What an agent could leave in its clone to be run by whoever fetches.
	proof := filepath.Join(filepath.Dir(repo), "proof")
	trap := "#!/bin/sh\ntouch '" + proof + "'\nexec \"$@\"\n"
	script := filepath.Join(clone, "trap")
	write(t, script, trap)
	if err := os.Chmod(script, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"uploadpack.packObjectsHook", "core.fsmonitor", "core.alternateRefsCommand", "core.sshCommand", "diff.external"} {
		git(t, clone, "config", key, script)
	}
	ref := "refs/agentform/api-5e897c/agents/api"
	f, err := Fetch(t.Context(), repo, clone, "agents/api", ref)
	if err != nil {
		t.Fatal(err)
	}
	if tip := strings.TrimSpace(git(t, clone, "rev-parse", "HEAD")); f.Commit != tip || !f.Moved || f.Ahead != 1 {
		t.Errorf("fetched %+v, want %s", f, tip)
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("something of the clone was run")
	}
	if again, err := Fetch(t.Context(), repo, clone, "agents/api", ref); err != nil || again.Moved || again.Commit != f.Commit {
		t.Errorf("again: %+v, %v", again, err)
	}
	// Rewritten history is fetched like any other.
	git(t, clone, "commit", "-q", "--amend", "-m", "better")
	if f, err = Fetch(t.Context(), repo, clone, "agents/api", ref); err != nil || !f.Moved || f.Ahead != 1 {
		t.Errorf("rewritten: %+v, %v", f, err)
	}
	if branches := git(t, repo, "branch", "--format=%(refname)"); strings.TrimSpace(branches) != "refs/heads/main" {
		t.Errorf("branches of the repository: %s", branches)
	}
	if _, err := os.Stat(filepath.Join(repo, ".git", "FETCH_HEAD")); err == nil {
		t.Error("a person's FETCH_HEAD was overwritten")
	}
	for what, from := range map[string]string{`it has no branch "nobody"`: clone, "not a git repository": filepath.Dir(repo)} {
		if _, err := Fetch(t.Context(), repo, from, "nobody", "refs/agentform/x/nobody"); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("from %s: %v, want %q", from, err, what)
		}
	}
}

// TestFetchFromShallow: a clone after git fetch --depth has a list of commits whose
// parents it hides. It has them all the same, and the work on top of such a
// commit is fetched with its history; the repository does not become shallow.
func TestFetchFromShallow(t *testing.T) {
	full := newRepo(t)
	repo, clone := filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "clone")
	git(t, filepath.Dir(repo), "clone", "-q", "file://"+full, repo)
	if _, err := AddClone(t.Context(), repo, clone, "agents/api", "", nil); err != nil {
		t.Fatal(err)
	}
	commit(t, full, "more")
	git(t, clone, "fetch", "-q", "--depth=1", "file://"+full, "main")
	git(t, clone, "reset", "-q", "--hard", "FETCH_HEAD")
	commit(t, clone, "work")
	if n := strings.TrimSpace(git(t, clone, "rev-list", "--count", "HEAD")); n != "2" {
		t.Fatalf("the clone shows %s commits: it is not shallow", n)
	}
	ref := "refs/agentform/api/agents/api"
	if f, err := Fetch(t.Context(), repo, clone, "agents/api", ref); err != nil || f.Ahead != 2 {
		t.Fatalf("fetched %+v, %v", f, err)
	}
	git(t, repo, "fsck")
	if n := strings.TrimSpace(git(t, repo, "rev-list", "--count", ref)); n != "3" || !gone(filepath.Join(repo, ".git", "shallow")) {
		t.Errorf("%s commits were fetched, want 3", n)
	}
}
