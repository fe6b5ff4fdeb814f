package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// FuzzFiles: git's files in a checkout are the agent's to write. A look at any of
// them comes to an end, and says of a branch no more than git could call one.
func FuzzFiles(f *testing.F) {
	hash := strings.Repeat("0a", 20)
	for _, s := range [][3]string{
		{"ref: refs/heads/main\n", "", ""},
		{hash + "\n", "refs/heads/agents/api\n", hash + " refs/heads/x\n"},
		{"ref: refs/heads/\x1b[31m", "../../../..\n", "^" + hash + "\n"},
		{"gitdir: ../../..", ".", strings.Repeat("x", 5000)},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, head, other, packed string) {
		if strings.Contains(head, ".invalid") {
			return // that makes it ask git, which is slow
		}
		dir := t.TempDir()
		git := filepath.Join(dir, ".git")
		write := func(name, text string) {
			path := filepath.Join(git, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("HEAD", head)
		write("rebase-merge/head-name", other)
		write("packed-refs", packed)
		check := func(co session.Checkout) {
			if len(co.Branch) > 4<<10 || strings.Contains(co.Head, "\n") || co.Head != "" && !isCommit(co.Head) {
				t.Errorf("branch %.100q, head %q", co.Branch, co.Head)
			}
			if co.Branch != "" && co.Err == nil && session.CheckBranch(co.Branch) != nil {
				t.Errorf("branch %q", co.Branch)
			}
			if co.Err != nil && !strings.Contains(co.Err.Error(), dir) {
				t.Errorf("the error does not name the file: %v", co.Err)
			}
		}
		check(Look(dir))
		check(LookClone(dir))
		if refs, err := (dirs{git: git, common: git}).refs(); err == nil {
			for name, commit := range refs {
				if !isCommit(commit) {
					t.Errorf("%q is at %q", name, commit)
				}
			}
		}
		write("commondir", other)
		check(Look(dir))
		if err := os.RemoveAll(git); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(git, []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		if co := Look(dir); !co.Exists || co.Err != nil && !strings.Contains(co.Err.Error(), dir) {
			t.Errorf("%+v", co)
		}
	})
}

// FuzzHeld: an entry of git's list of worktrees.
func FuzzHeld(f *testing.F) {
	f.Add("worktree /w\x00HEAD abc\x00branch refs/heads/main")
	f.Add("worktree /w\x00bare")
	f.Add("detached")
	f.Fuzz(func(t *testing.T, entry string) {
		h, ok := parseHeld(strings.Split(entry, "\x00"))
		if ok && !strings.Contains(entry, "worktree "+h.Path) {
			t.Errorf("%q is at %q", entry, h.Path)
		}
		if uncommitted, untracked := counted(entry); uncommitted < 0 || uncommitted+untracked > 1+strings.Count(entry, "\x00") {
			t.Errorf("%q has %d and %d", entry, uncommitted, untracked)
		}
	})
}
