package git

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// trap is a program that leaves a proof when it is run. PATH has it under no name.
func trap(t *testing.T, dir string) (script, proof string) {
	t.Helper()
	script, proof = filepath.Join(dir, "trap"), filepath.Join(dir, "proof")
	writeScript(t, script, "touch '"+proof+"'\nexec \"$@\"")
	return script, proof
}

// TestHostileClone: whatever an agent puts into its clone, looking at it, judging
// it and fetching from it runs nothing of its choice.
func TestHostileClone(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(t *testing.T, path, script string){
		"settings": func(t *testing.T, path, script string) {
			for _, key := range []string{"uploadpack.packObjectsHook", "core.fsmonitor", "core.alternateRefsCommand", "core.sshCommand",
				"diff.external", "core.pager", "filter.x.clean", "remote.origin.uploadpack"} {
				git(t, path, "config", key, script)
			}
			write(t, filepath.Join(path, ".git", "info", "attributes"), "* filter=x\n")
		},
		"a promisor that has to be asked": func(t *testing.T, path, script string) {
			// The tree of the tip is missing, and where it is to be had is a program.
			tree := git(t, path, "rev-parse", "HEAD^{tree}")
			if err := os.Remove(filepath.Join(path, ".git", "objects", tree[:2], tree[2:])); err != nil {
				t.Fatal(err)
			}
			git(t, path, "config", "core.repositoryFormatVersion", "1")
			git(t, path, "config", "extensions.partialClone", "evil")
			git(t, path, "config", "remote.evil.promisor", "true")
			git(t, path, "config", "remote.evil.url", "ext::"+script)
			git(t, path, "config", "protocol.ext.allow", "always")
		},
		"refs that git has to be asked for": func(t *testing.T, path, script string) {
			git(t, path, "config", "core.fsmonitor", script)
			write(t, filepath.Join(path, ".git", "HEAD"), "ref: refs/heads/.invalid\n")
		},
		"hooks": func(t *testing.T, path, script string) {
			for _, hook := range []string{"reference-transaction", "pre-auto-gc", "post-index-change"} {
				writeScript(t, filepath.Join(path, ".git", "hooks", hook), script)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo, path := newClone(t, "agents/api")
			write(t, filepath.Join(path, "new.txt"), "x")
			commit(t, path, "work")
			git(t, path, "update-index", "--skip-worktree", "a.txt")
			script, proof := trap(t, filepath.Dir(repo))
			set(t, path, script)
			LookClone(path)
			_, _ = Fetch(t.Context(), repo, path, "agents/api", "refs/agentform/x/a")
			// In the container git has nothing to tell: the rest is read here.
			r, err := CloneRisk(t.Context(), path, repo, func(context.Context, ...string) (string, error) { return "## agents/api\x00", nil })
			if name == "settings" && (err != nil || r.Any()) {
				t.Errorf("%v, %v: nothing was examined", r, err)
			}
			_, fetched := Fetch(t.Context(), repo, path, "agents/api", "refs/agentform/x/b")
			if !gone(proof) {
				t.Error("something of the clone was run")
			}
			if name == "settings" && fetched != nil {
				t.Error(fetched)
			}
			if name == "a promisor that has to be asked" && fetched == nil {
				t.Error("a branch without its files was fetched")
			}
		})
	}
}

// TestCloneThatLeadsElsewhere: what is no clone of its own is reported, and what it
// leads to is neither read for it nor removed.
func TestCloneThatLeadsElsewhere(t *testing.T) {
	other := newRepo(t)
	for name, set := range map[string]func(path string) error{
		"a file": func(path string) error {
			return os.WriteFile(filepath.Join(path, ".git"), []byte("gitdir: "+other+"/.git\n"), 0o600)
		},
		"a link":                func(path string) error { return os.Symlink(filepath.Join(other, ".git"), filepath.Join(path, ".git")) },
		"a pipe":                func(path string) error { return syscall.Mkfifo(filepath.Join(path, ".git"), 0o600) },
		"a HEAD that is a pipe": func(path string) error { return inGit(path, func(p string) error { return syscall.Mkfifo(p, 0o600) }) },
		"a HEAD without an end": func(path string) error {
			return inGit(path, func(p string) error { return os.Symlink("/dev/zero", p) })
		},
		"a HEAD of something": func(path string) error {
			return inGit(path, func(p string) error { return os.WriteFile(p, []byte("hello\n"), 0o600) })
		},
		"a HEAD that is a folder": func(path string) error { return inGit(path, func(p string) error { return os.Mkdir(p, 0o700) }) },
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			if err := set(path); err != nil {
				t.Fatal(err)
			}
			co := LookClone(path)
			if co.Err == nil || co.Branch != "" {
				t.Errorf("%+v", co)
			}
			if _, err := Fetch(t.Context(), other, path, "main", "refs/agentform/x/main"); err == nil {
				t.Error("it was fetched from")
			}
			if err := RemoveClone(t.Context(), path, other, Here(path)); err == nil || gone(path) {
				t.Errorf("it was removed: %v", err)
			}
		})
	}
	path := t.TempDir()
	write(t, filepath.Join(path, "b.txt"), "x")
	if co := LookClone(path); co.Git || co.Empty || co.Err != nil {
		t.Errorf("a plain folder: %+v", co)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	if co := LookClone(link); co.Git || !co.Exists {
		t.Errorf("a link to a repository: %+v", co)
	}
}

// inGit makes HEAD in an empty .git.
func inGit(path string, make func(head string) error) error {
	if err := os.Mkdir(filepath.Join(path, ".git"), 0o700); err != nil {
		return err
	}
	return make(filepath.Join(path, ".git", "HEAD"))
}

// TestFetchChecksObjects: what would do harm when it is checked out is not brought.
func TestFetchChecksObjects(t *testing.T) {
	repo, path := newClone(t, "agents/api")
	blob := git(t, path, "hash-object", "-w", "a.txt")
	// A tree with an entry .git, which no git makes.
	tree := func(entry string) string {
		c := "printf '100644 " + entry + "\\0' > t && printf '" + escaped(blob) + "' >> t && git hash-object -w -t tree --literally t"
		return strings.TrimSpace(shell(t, path, c))
	}
	bad := git(t, path, "commit-tree", "-p", "HEAD", "-m", "bad", tree(".git"))
	git(t, path, "update-ref", "refs/heads/agents/api", bad)
	_, err := Fetch(t.Context(), repo, path, "agents/api", "refs/agentform/x/b")
	if err == nil || !strings.Contains(err.Error(), "hasDotgit") {
		t.Errorf("%v, want hasDotgit", err)
	}
}

// escaped is a hash in the octal escapes of printf.
func escaped(hash string) string {
	var b strings.Builder
	for i := 0; i < len(hash); i += 2 {
		n, _ := strconv.ParseUint(hash[i:i+2], 16, 8) // git printed it
		fmt.Fprintf(&b, "\\%03o", n)
	}
	return b.String()
}

func shell(t *testing.T, dir, script string) string {
	t.Helper()
	c := exec.Command("sh", "-c", script)
	c.Dir, c.Env = dir, environ()
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}
