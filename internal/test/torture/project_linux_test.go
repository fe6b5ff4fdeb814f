//go:build real

package torture

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/state"
)

// project is a repository in a temporary directory, with a home, sockets and a PATH of its
// own. Every process that has to do with it has that directory in its environment.
type project struct {
	t    *testing.T
	root string // short: a socket's path may have 107 bytes
	dir  string // of the repository
	env  []string
}

// newProject lays a project out. At the end nothing that it started lives, and its
// directory is gone; after a failure the directory stays.
func newProject(t *testing.T) *project {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "aft")
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, root: root, dir: filepath.Join(root, "shop")}
	t.Cleanup(func() {
		if t.Failed() {
			for _, x := range p.processes("") {
				t.Logf("alive: %d %q", x.PID, x.command)
			}
			t.Logf("what is left stands in %s", root)
		}
		wait.For(t, "nothing lives", func() (any, bool) {
			left := p.processes("")
			for _, x := range left {
				_ = syscall.Kill(x.PID, syscall.SIGKILL)
			}
			return left, len(left) == 0
		})
		if t.Failed() {
			return
		}
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{p.dir, p.lock(""), filepath.Join(root, "run"), filepath.Join(root, "bin")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{
		"PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv(bin) + ":" + os.Getenv("PATH"), "HOME=" + root, "XDG_RUNTIME_DIR=" + filepath.Join(root, "run"),
		"LANG=C.UTF-8", "SHELL=/bin/sh", "USER=tester", "GIT_CONFIG_NOSYSTEM=1", "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"),
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.invalid", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.invalid",
	}
	p.write(".gitignore", ".agentform/\n")
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "a shop"}} {
		if out, code := p.run("git", args...); code != 0 {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	return p
}

// write makes a file in the repository.
func (p *project) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// lock is the file that a session's agents lock.
func (p *project) lock(session string) string { return filepath.Join(p.root, "alone", session) }

// command is a program in the repository, in a process group of its own.
func (p *project) command(name string, args ...string) *exec.Cmd {
	if path := filepath.Join(os.Getenv(bin), name); name == "agentform" {
		name = path
	}
	c := exec.Command(name, args...)
	c.Dir, c.Env = p.dir, p.env
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// patience is how long a program may take. Nothing here takes seconds on a machine with
// time for it.
const patience = 5 * time.Minute

// run runs a program to its end: what it said, and its exit code.
func (p *project) run(name string, args ...string) (out string, code int) {
	p.t.Helper()
	c := p.command(name, args...)
	late := time.AfterFunc(patience, func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) })
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case !late.Stop():
		p.t.Fatalf("%s %v did not end within %s:\n%s", name, args, patience, text)
	case errors.As(err, &exit):
		return string(text), exit.ExitCode()
	case err != nil:
		p.t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(text), 0
}

// statePath is where the project's state is.
func (p *project) statePath() string { return filepath.Join(p.dir, ".agentform", "state.json") }

// state is what is on record.
func (p *project) state() (state.State, error) { return state.Read(p.statePath()) }

// process is one that lives and has to do with the project.
type process struct {
	proc.Process
	command []string
	run     string // of agentform; empty: of none
}

// session is the session that an agent's command line says that it is of.
func (x process) session() string {
	if i := slices.Index(x.command, "-alone"); i >= 0 && i+1 < len(x.command) {
		return filepath.Base(x.command[i+1])
	}
	return ""
}

// processes are those that live and were started in this project, by the name of their
// program; empty: all.
func (p *project) processes(program string) []process {
	var found []process
	for at, env := range proc.Find(func(environ []byte) bool { return bytes.Contains(environ, []byte(p.root+"/")) }) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", at.PID)) // gone meanwhile: none
		x := process{Process: at, command: strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")}
		for _, v := range strings.Split(string(env), "\x00") {
			if run, ok := strings.CutPrefix(v, "AGENTFORM_RUN="); ok {
				x.run = run
			}
		}
		if program == "" || filepath.Base(x.command[0]) == program {
			found = append(found, x)
		}
	}
	return found
}

// marks are what the project's tmux sessions bear, by their names.
func (p *project) marks() map[string]string {
	found := map[string]string{}
	sockets, _ := filepath.Glob(filepath.Join(p.root, "run", "agentform", "*", "tmux-*"))
	for _, s := range sockets {
		out, err := p.command("tmux", "-S", s, "list-sessions", "-F", "#{session_name}\t#{@agentform}").Output()
		if err != nil {
			continue // its server has gone
		}
		for line := range strings.Lines(string(out)) {
			name, mark, _ := strings.Cut(strings.TrimSpace(line), "\t")
			found[name] = mark
		}
	}
	return found
}
