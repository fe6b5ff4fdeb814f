//go:build real

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// project is a throw-away repository, and the surroundings in which agentform runs
// there: the built programs, and a home and a runtime directory of its own.
type project struct {
	dir string
	env []string
}

// built builds agentform as make build does, and profiled, and returns the directory
// that they are in.
func built(t testing.TB) string {
	t.Helper()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace", "-o", bin, "../../../cmd/...", "../../../cmd/internal/profiled")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// newRepository is a repository with one commit. bin is where the programs are that
// built has made.
func newRepository(t testing.TB, bin string) project { return newRepositoryIn(t, bin, "/tmp") }

// inMemory is a directory whose files are in memory, on Linux; empty: there is none.
func inMemory() string {
	const folder = "/dev/shm"
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return ""
	}
	return folder
}

// newRepositoryIn is newRepository in a directory.
func newRepositoryIn(t testing.TB, bin, folder string) project {
	t.Helper()
	short, err := os.MkdirTemp(folder, "afb") // short: a socket's path may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// What was ended just now may still be writing.
		for end := time.Now().Add(time.Minute); os.RemoveAll(short) != nil && time.Now().Before(end); {
			time.Sleep(100 * time.Millisecond)
		}
	})
	// Its name is the project's, and so part of names that all projects share.
	p := project{dir: filepath.Join(short, filepath.Base(short))}
	run := filepath.Join(short, "run")
	for _, dir := range []string{p.dir, run} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + short, "XDG_RUNTIME_DIR=" + run, "LANG=C.UTF-8", "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"),
		"GIT_AUTHOR_NAME=b", "GIT_AUTHOR_EMAIL=b@example.invalid", "GIT_COMMITTER_NAME=b", "GIT_COMMITTER_EMAIL=b@example.invalid"}
	p.run(t, "git", "init", "-q", "-b", "main")
	p.run(t, "git", "commit", "-q", "--allow-empty", "-m", "a shop")
	return p
}

// manifest declares so many sessions of an agent that sleeps. sessions is the rest
// of each session's block, or of several blocks.
func (p project) manifest(t testing.TB, most int, sessions string) {
	t.Helper()
	p.write(t, "agentform.hcl", fmt.Sprintf(`
agentform {
  max_running = %d
}
agent "idle" {
  command    = ["sleep", "100000"]
  prompt_via = "none"
}
%s`, most, sessions))
}

// write puts a file into the repository.
func (p project) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// destroyed sees to it that nothing of the project is left when the test is over.
func (p project) destroyed(t testing.TB) {
	t.Cleanup(func() { p.run(t, "agentform", "destroy", "--auto-approve") })
}

func (p project) command(args ...string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	for _, dir := range filepath.SplitList(p.env[0][len("PATH="):]) {
		if path := filepath.Join(dir, args[0]); isFile(path) {
			c = exec.Command(path, args[1:]...)
			break
		}
	}
	c.Dir, c.Env = p.dir, p.env
	return c
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// run is a command that has to succeed.
func (p project) run(t testing.TB, args ...string) {
	t.Helper()
	if out, err := p.command(args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// time is how long a command takes that has to succeed.
func (p project) time(t testing.TB, args ...string) time.Duration {
	t.Helper()
	began := time.Now()
	p.run(t, args...)
	return time.Since(began)
}

// memory is the most that a command that has to succeed takes, in bytes, and how long
// it takes. It is started by a process that takes little: the kernel counts with a
// process what had started it until it became another program.
func (p project) memory(t testing.TB, args ...string) (bytes float64, took time.Duration) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := p.command(args...)
	c.Args = append([]string{self, c.Path}, c.Args[1:]...)
	c.Path, c.Env = self, append(c.Env[:len(c.Env):len(c.Env)], peakVariable+"=yes")
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	if _, err := fmt.Sscan(string(out), &bytes, &took); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	return bytes, took
}

// tmux runs one tmux client on the socket, which carries out all of the lines.
func (p project) tmux(t testing.TB, socket string, lines []string) time.Duration {
	t.Helper()
	c := p.command("tmux", "-u", "-f", "/dev/null", "-S", socket, "start-server", ";", "source-file", "-")
	c.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	began := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v\n%s", err, out)
	}
	return time.Since(began)
}

// sockets are those of the tmux servers on which the project's sessions are.
func (p project) sockets(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(p.beside("run/agentform/*/tmux-*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("sockets: %v, %v", found, err)
	}
	return found
}

// beside is the path of a file beside the repository, short enough for a socket.
func (p project) beside(name string) string { return filepath.Join(filepath.Dir(p.dir), name) }

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
