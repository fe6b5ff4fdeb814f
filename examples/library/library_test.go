//go:build real

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLibrary builds the example as a program of its own and runs it on a
// repository: three agents in tmux, three commits, and nothing left.
func TestLibrary(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "afe") // short: sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	repo, program := filepath.Join(dir, "repo"), filepath.Join(dir, "library")
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir}
	// Who commits is in a file: agents do not get git's variables of their program.
	who := "[user]\n\tname = tester\n\temail = tester@example.invalid\n"
	if err := os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte(who), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Env = env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	build := exec.Command("go", "build", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	run("git", "init", "-q", "-b", "main", repo)
	run("git", "-C", repo, "commit", "-q", "--allow-empty", "-m", "begin")

	for range 2 { // an earlier run stands in nobody's way
		out := run(program, repo)
		for _, area := range []string{"api", "docs", "web"} {
			if !strings.Contains(out, "agents/"+area+": docs: "+area+"\n") {
				t.Errorf("nothing is said of %s:\n%s", area, out)
			}
			if got := run("git", "-C", repo, "show", "agents/"+area+":"+area+".md"); got != "about "+area+"\n" {
				t.Errorf("%s committed %q", area, got)
			}
		}
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "agentform", "*", "g-*"))
	if err != nil || len(sockets) != 0 {
		t.Errorf("shims are left: %v, %v", sockets, err)
	}
	if _, err := exec.Command(program).CombinedOutput(); err == nil {
		t.Error("without a repository it was satisfied")
	}
}
