//go:build real

package torture

import (
	"cmp"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
)

const killsInCI = 100 // without AGENTFORM_TORTURE

// number is an environment variable's, if there is one.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), strconv.FormatUint(otherwise, 10)), 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// TestTorture kills agentform at random moments.
func TestTorture(t *testing.T) {
	kills := int(number(t, "AGENTFORM_TORTURE", killsInCI))
	seed := number(t, "AGENTFORM_TORTURE_SEED", usualSeed())
	x := &torture{project: newProject(t), rand: rand.New(rand.NewPCG(seed, 0)), wanted: wanted{}, span: map[string]time.Duration{}}
	t.Logf("AGENTFORM_TORTURE=%d AGENTFORM_TORTURE_SEED=%d", kills, seed)
	x.vary()
	began := time.Now()
	defer func() { t.Logf("%s in %s", &x.tally, time.Since(began).Round(time.Second)) }()
	for x.kills() < kills {
		for last, few := x.kills(), 1+x.rand.IntN(12); x.kills() < last+few; {
			x.scene()
			x.inspect()
		}
		x.converge()
	}
	x.finish()
}

// torture is a project under it.
type torture struct {
	*project
	rand   *rand.Rand
	wanted wanted
	span   map[string]time.Duration // how long a command takes, about
	last   before
	tally  tally
}

func (x *torture) kills() int { return x.tally.total() }

// scene starts something, kills it, and returns when it is dead.
func (x *torture) scene() {
	if x.rand.IntN(4) > 0 {
		x.vary()
	}
	switch n := x.rand.IntN(20); {
	case n < 9:
		x.kill(x.start("apply", "--auto-approve"))
	case n < 12:
		x.kill(x.start("destroy", "--auto-approve"))
	case n < 17:
		hub := x.start("serve")
		x.harm()
		x.kill(hub)
	default:
		hub, apply := x.start("serve"), x.start("apply", "--auto-approve")
		x.harm()
		x.kill(apply)
		x.kill(hub)
	}
}

// vary changes the manifest.
func (x *torture) vary() {
	x.wanted.change(x.rand)
	x.write("agentform.hcl", x.wanted.text(x.lock))
}

// harm kills some agents, now and then a whole tmux server: work for a hub.
func (x *torture) harm() {
	time.Sleep(time.Duration(x.rand.IntN(100)) * time.Millisecond)
	agents := x.processes("fakeagent")
	for range x.rand.IntN(3) {
		if len(agents) > 0 {
			_ = syscall.Kill(agents[x.rand.IntN(len(agents))].PID, syscall.SIGKILL)
		}
	}
	if x.rand.IntN(10) == 0 {
		sockets, _ := filepath.Glob(filepath.Join(x.root, "run", "agentform", "*", "tmux-*"))
		for _, s := range sockets {
			x.run("tmux", "-S", s, "kill-server")
		}
	}
}

// running is a command that is going to be killed.
type running struct {
	name  string
	cmd   *exec.Cmd
	began time.Time
	ended chan error
}

func (x *torture) start(args ...string) *running {
	x.t.Helper()
	r := &running{name: args[0], cmd: x.command("agentform", args...), began: time.Now(), ended: make(chan error, 1)}
	// The output goes to a file and not to a pipe, which what outlives a kill would hold.
	f, err := os.OpenFile(filepath.Join(x.root, r.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		x.t.Fatal(err)
	}
	defer f.Close()
	r.cmd.Stdout, r.cmd.Stderr = f, f
	if err := r.cmd.Start(); err != nil {
		x.t.Fatal(err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	return r
}

// kill kills the command after a random part of the time that it usually takes: it
// alone, as when memory runs out, or its whole process group, as when a machine is
// brought down.
func (x *torture) kill(r *running) {
	span := cmp.Or(x.span[r.name], 500*time.Millisecond)
	after := time.Duration(x.rand.Int64N(int64(span))) - time.Since(r.began)
	alone := x.rand.IntN(2) == 0
	select {
	case err := <-r.ended:
		took := time.Since(r.began)
		x.span[r.name] = max((span+took)/2, 50*time.Millisecond)
		x.tally.ended++
		if r.name == "serve" {
			x.t.Fatalf("the hub ended by itself: %v; see %s.log", err, r.name)
		}
		return
	case <-time.After(after):
	}
	x.span[r.name] = min(span*21/20, 3*time.Second)
	if alone {
		_ = syscall.Kill(r.cmd.Process.Pid, syscall.SIGKILL)
	} else {
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL)
	}
	<-r.ended
	if status, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		x.tally.add(r.name)
	}
}

// converge is one apply that nobody disturbs. Then there is nothing left to do, and
// exactly what is wanted lives.
func (x *torture) converge() {
	x.t.Helper()
	x.tally.converged++
	out, code := x.run("agentform", "apply", "--auto-approve")
	if code != 0 {
		x.tally.stuck++
		x.t.Fatalf("not converged: the apply ended with %d:\n%s", code, out)
	}
	if out, code := x.run("agentform", "plan", "--detailed-exitcode"); code != 0 {
		x.tally.stuck++
		x.t.Fatalf("not converged: plan ended with %d:\n%s", code, out)
	}
	x.inspect()
	var live []string
	for _, a := range x.processes("fakeagent") {
		live = append(live, a.session())
	}
	if got, want := sorted(live), x.wanted.live(); strings.Join(got, " ") != strings.Join(want, " ") {
		x.tally.stuck++
		x.t.Fatalf("not converged: alive are %v, want %v", got, want)
	}
}

// finish destroys the project: nothing is left of it but its branches and its records.
func (x *torture) finish() {
	x.t.Helper()
	if out, code := x.run("agentform", "destroy", "--auto-approve"); code != 0 {
		x.t.Fatalf("destroy ended with %d:\n%s", code, out)
	}
	wait.For(x.t, "nothing lives", func() (any, bool) { left := x.processes(""); return left, len(left) == 0 })
	// A server's file may outlive it, as tmux's do; nobody may listen on it.
	var left []string
	sockets, _ := filepath.Glob(filepath.Join(x.root, "run", "agentform", "*", "*"))
	for _, s := range sockets {
		conn, err := net.Dial("unix", s)
		if err == nil {
			conn.Close()
		}
		if err == nil || strings.HasPrefix(filepath.Base(s), "g-") {
			left = append(left, s)
		}
	}
	trees, _ := filepath.Glob(filepath.Join(x.dir, ".agentform", "workspaces", "*", "*"))
	if left = append(left, trees...); len(left) > 0 {
		x.t.Errorf("still there: %v", left)
	}
	if out, _ := x.run("git", "worktree", "list", "--porcelain"); strings.Count(out, "worktree ") != 1 {
		x.t.Errorf("git still knows worktrees:\n%s", out)
	}
	if s, err := x.state(); err != nil || len(s.Sessions) > 0 {
		x.t.Errorf("still on record: %d sessions, %v", len(s.Sessions), err)
	}
}
