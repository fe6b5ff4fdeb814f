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

// BenchmarkPlanInSync is `agentform plan` with nothing to do, as a person runs
// it: a process, 100 live tmux sessions, each in a git worktree of its own.
// Beside it, in turns, the floor: one list-panes of all of them, and the HEAD of
// every workspace read as plainly as can be; and the start of agentform alone.
// The goal is 3 × the floor and the start-up; it fails past twice that.
func BenchmarkPlanInSync(b *testing.B) {
	p := newProject(b, 100)
	p.run(b, "agentform", "apply", "--auto-approve")
	b.Cleanup(func() { p.run(b, "agentform", "destroy", "--auto-approve") })
	socket := p.socket(b)

	var plans, panes, heads, starts []time.Duration
	for b.Loop() {
		plans = append(plans, p.time(b, "agentform", "plan", "--detailed-exitcode"))
		panes = append(panes, p.time(b, "tmux", "-S", socket, "list-panes", "-a", "-F", "#{pane_id} #{pane_dead} #{pane_pid} #{@agentform}"))
		heads = append(heads, p.readHeads(b, 100))
		starts = append(starts, p.time(b, "agentform", "version"))
	}
	plan, listed, read, start := median(plans), median(panes), median(heads), median(starts)
	goal := 3*(listed+read) + start
	b.ReportMetric(ms(plan), "plan-ms")
	b.ReportMetric(ms(listed), "list-panes-ms")
	b.ReportMetric(ms(read), "heads-ms")
	b.ReportMetric(ms(start), "start-ms")
	b.ReportMetric(ms(plan)/ms(goal), "of-goal")
	if plan > 2*goal {
		b.Errorf("plan takes %v; 3 × list-panes (%v) and HEADs (%v), and the start-up (%v) are %v", plan, listed, read, start, goal)
	}
}

// readHeads reads the HEAD of every worktree, by way of its .git file, and
// returns how long that took.
func (p project) readHeads(b *testing.B, want int) time.Duration {
	b.Helper()
	trees, err := filepath.Glob(filepath.Join(p.dir, ".agentform", "workspaces", "*", "*"))
	if err != nil || len(trees) != want {
		b.Fatalf("%d workspaces, want %d: %v", len(trees), want, err)
	}
	began := time.Now()
	for _, tree := range trees {
		git, err := os.ReadFile(filepath.Join(tree, ".git"))
		if err != nil {
			b.Fatal(err)
		}
		dir := strings.TrimSpace(strings.TrimPrefix(string(git), "gitdir: "))
		if head, err := os.ReadFile(filepath.Join(dir, "HEAD")); err != nil || !strings.HasPrefix(string(head), "ref: ") {
			b.Fatalf("HEAD %q: %v", head, err)
		}
	}
	return time.Since(began)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// project is a throw-away repository with the built programs in its PATH.
type project struct {
	dir string
	env []string
}

func newProject(b *testing.B, sessions int) project {
	b.Helper()
	short, err := os.MkdirTemp("/tmp", "afb") // short: a socket's path may have 107 bytes
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(short) })
	p := project{dir: filepath.Join(short, "shop")}
	bin, run := filepath.Join(short, "bin"), filepath.Join(short, "run")
	for _, dir := range []string{p.dir, bin, run} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			b.Fatal(err)
		}
	}
	p.env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + short, "XDG_RUNTIME_DIR=" + run, "LANG=C.UTF-8",
		"GIT_AUTHOR_NAME=b", "GIT_AUTHOR_EMAIL=b@example.invalid", "GIT_COMMITTER_NAME=b", "GIT_COMMITTER_EMAIL=b@example.invalid"}
	build := exec.Command("go", "build", "-o", bin, "../../cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, out)
	}
	manifest := fmt.Sprintf(`
agentform {
  max_running = %[1]d
}
agent "idle" {
  command    = ["sleep", "100000"]
  prompt_via = "none"
}
session "s" {
  count  = %[1]d
  agent  = agent.idle
  branch = "agents/s${count.index}"
  workspace {
    on_destroy = "remove_clean"
  }
}
`, sessions)
	if err := os.WriteFile(filepath.Join(p.dir, "agentform.hcl"), []byte(manifest), 0o600); err != nil {
		b.Fatal(err)
	}
	p.run(b, "git", "init", "-q", "-b", "main")
	p.run(b, "git", "commit", "-q", "--allow-empty", "-m", "a shop")
	return p
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

func (p project) run(b *testing.B, args ...string) {
	b.Helper()
	if out, err := p.command(args...).CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// time is how long a command takes that has to succeed.
func (p project) time(b *testing.B, args ...string) time.Duration {
	b.Helper()
	began := time.Now()
	p.run(b, args...)
	return time.Since(began)
}

func (p project) socket(b *testing.B) string {
	b.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(p.dir), "run", "agentform", "*", "tmux-0"))
	if err != nil || len(found) != 1 {
		b.Fatalf("sockets: %v, %v", found, err)
	}
	return found[0]
}
