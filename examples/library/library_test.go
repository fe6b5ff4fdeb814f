//go:build real

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
)

// TestLibrary builds the example as a program of its own and runs it on a
// repository: three agents in tmux, three commits, and nothing left.
func TestLibrary(t *testing.T) {
	lib := build(t)
	for range 2 { // an earlier run stands in nobody's way
		out := lib.run(t, lib.program, lib.repo)
		for _, area := range []string{"api", "docs", "web"} {
			if !strings.Contains(out, "agents/"+area+": docs: "+area+"\n") {
				t.Errorf("nothing is said of %s:\n%s", area, out)
			}
			if got := lib.run(t, "git", "-C", lib.repo, "show", "agents/"+area+":"+area+".md"); got != "about "+area+"\n" {
				t.Errorf("%s committed %q", area, got)
			}
		}
	}
	if left := lib.shims(t); len(left) != 0 {
		t.Errorf("shims are left: %v", left)
	}
	if _, err := exec.Command(lib.program).CombinedOutput(); err == nil {
		t.Error("without a repository it was satisfied")
	}
}

// TestTerminated checks that SIGTERM, as a service manager sends it, stops the agents.
func TestTerminated(t *testing.T) {
	lib := build(t)
	hold := filepath.Join(lib.dir, "hold")
	for path, text := range map[string]string{
		hold: "",
		filepath.Join(lib.repo, ".git", "hooks", "pre-commit"): "#!/bin/sh\nwhile [ -e " + hold + " ]; do sleep 0.05; done\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(lib.program, lib.repo)
	c.Env = lib.env
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(hold) })
	wait.For(t, "three agents", func() (any, bool) { left := lib.shims(t); return left, len(left) == 3 })
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("it ended as if its agents were done")
	}
	if left := lib.shims(t); len(left) != 0 {
		t.Errorf("shims are left: %v", left)
	}
}

type library struct {
	dir, repo, program string
	env                []string
}

// build builds the example, and makes a repository for it.
func build(t *testing.T) library {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "afe") // short: sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	lib := library{dir, filepath.Join(dir, "repo"), filepath.Join(dir, "library"), []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_RUNTIME_DIR=" + dir}}
	// Who commits is in a file: agents do not get git's variables of their program.
	who := "[user]\n\tname = tester\n\temail = tester@example.invalid\n"
	if err := os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte(who), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", lib.program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	lib.run(t, "git", "init", "-q", "-b", "main", lib.repo)
	lib.run(t, "git", "-C", lib.repo, "commit", "-q", "--allow-empty", "-m", "begin")
	return lib
}

func (l library) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = l.env
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// shims returns the sockets of the agents' shims.
func (l library) shims(t *testing.T) []string {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(l.dir, "agentform", "*", "g-*"))
	if err != nil {
		t.Fatal(err)
	}
	return sockets
}
