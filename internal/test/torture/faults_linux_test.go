//go:build real

package torture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// faultsInCI is how many of the faults are tried when nobody asks for all, besides those
// that once did harm.
const faultsInCI = 10

var once = []fault{
	{"kernel", "flock", 1, "error=EIO"},   // our own waited for ever for a lock that could not be given back
	{"tmux", "respawn-pane", 1, kindCut},  // another's error was taken for that the session is gone
	{"tmux", "respawn-pane", 1, kindKill}, // its shim could not be asked to end any more
}

// errnos are the failures that the kernel is made to return, and how they read.
var errnos = map[string]string{"EIO": "input/output error", "ENOSPC": "no space left on device", "EINTR": "interrupted system call"}

// fault is one failure of something outside that agentform calls.
type fault struct {
	edge string // tmux, git, kernel, disk
	op   string // the word in a call, a system call, the bytes that are left
	nth  int    // the call of it that fails
	kind string // of failure
}

func (f fault) String() string { return fmt.Sprintf("%s %s %d: %s", f.edge, f.op, f.nth, f.kind) }

// faults is the table: every operation × every failure.
func faults() []fault {
	var all []fault
	for edge, ops := range map[string][]string{
		"tmux": {"list-panes", "new-session", "respawn-pane", "capture-pane", "kill-session", "@agentform_pause"},
		"git":  {"worktree add", "worktree remove", "status", "worktree list"},
	} {
		for _, op := range ops {
			for _, kind := range []string{kindError, kindLate, kindKill, kindCut, kindSlow} {
				for _, nth := range []int{1, 2} {
					all = append(all, fault{edge, op, nth, kind})
				}
			}
		}
	}
	for _, call := range []string{"fsync", "renameat", "mkdirat", "unlinkat", "flock"} {
		for _, kind := range []string{"error=EIO", "error=ENOSPC", "error=EINTR", "delay_enter=200ms", "signal=KILL"} {
			for _, nth := range []int{1, 2, 3} {
				all = append(all, fault{"kernel", call, nth, kind})
			}
		}
	}
	for _, left := range []string{"0", "4096", "16384", "65536"} {
		all = append(all, fault{"disk", left, 1, "full"})
	}
	slices.SortFunc(all, func(a, b fault) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// TestFaults lets the calls of a whole apply to tmux, to git and to the kernel fail, each
// in turn and in each way. Whoever applied gets a clear error or nothing was lost, the state
// is right, and the next apply brings about what is wanted. In CI it tries some, by the
// seed; with AGENTFORM_FAULTS=all every one.
func TestFaults(t *testing.T) {
	seed := number(t, "AGENTFORM_TORTURE_SEED", usualSeed())
	all := faults()
	if os.Getenv("AGENTFORM_FAULTS") != "all" {
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = append(slices.Clone(once), all[:faultsInCI]...)
	}
	t.Logf("%d faults, AGENTFORM_TORTURE_SEED=%d", len(all), seed)
	x := &torture{project: newProject(t), span: nil}
	x.shims()
	x.dataOnADisk()
	x.write("agentform.hcl", scenario(0).text(x.lock))
	x.wanted = scenario(0)
	x.converge()
	met := 0
	for n, f := range all {
		began := time.Now()
		x.wanted = scenario(n + 1)
		x.write("agentform.hcl", x.wanted.text(x.lock))
		out, code, hit := x.with(f)
		t.Logf("%s: met: %v, exit code %d after %s", f, hit, code, time.Since(began).Round(time.Millisecond))
		if hit {
			met++
		}
		x.told(f, hit, out, code)
		x.inspect()
		if x.converge(); t.Failed() {
			t.Fatalf("with %s; the apply ended with %d:\n%s", f, code, out)
		}
	}
	t.Logf("%d of %d faults were met", met, len(all))
	if met < len(all)/3 {
		t.Error("too few to prove anything")
	}
	// A workspace that the last fault kept from being removed was told of, and is the
	// next one's.
	x.wanted = scenario(len(all) + 1)
	x.write("agentform.hcl", x.wanted.text(x.lock))
	x.converge()
	x.finish()
}

// scenario are two manifests in turn. Going from one to the other is a session of each
// kind: created, replaced, restarted, paused, resumed, stopped, changed in place, removed.
func scenario(n int) wanted {
	even := n%2 == 0
	pick := func(a, b string) string {
		if even {
			return a
		}
		return b
	}
	w := wanted{
		"api":  {desired: "running", branch: 1 + n%2},
		"docs": {desired: "running", branch: 1, prompt: n % 2},
		"mail": {desired: pick("running", "paused"), freeze: true},
		"web":  {desired: pick("running", "stopped"), branch: 1, role: n % 2},
	}
	w[pick("infra", "shop")] = entry{desired: "running", branch: 1}
	return w
}

// shims puts them before tmux and git.
func (x *torture) shims() {
	self, err := os.Executable()
	if err != nil {
		x.t.Fatal(err)
	}
	for _, name := range []string{"tmux", "git"} {
		if err := os.Symlink(self, x.wrapper(name)); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *torture) wrapper(name string) string { return filepath.Join(x.root, "bin", name) }

// diskSize is how large the disk is that the state lies on, in bytes.
const diskSize = 64 << 20

// dataOnADisk gives the state a small disk of its own, which can run full. It takes root
// to mount one.
func (x *torture) dataOnADisk() {
	dir := filepath.Dir(x.statePath())
	if err := os.Mkdir(dir, 0o700); err != nil {
		x.t.Fatal(err)
	}
	if os.Getuid() != 0 {
		return
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", diskSize)); err != nil {
		x.t.Fatalf("mount a small disk on %s: %v", dir, err)
	}
	x.t.Cleanup(func() {
		if x.t.Failed() { // what is left is worth more than the disk
			if out, code := x.run("cp", "-a", dir, dir+".kept"); code != 0 {
				x.t.Log(out)
			}
		}
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			x.t.Error(err)
		}
	})
}

// with applies the manifest while something fails. met says that it did.
func (x *torture) with(f fault) (out string, code int, met bool) {
	x.t.Helper()
	apply := []string{filepath.Join(os.Getenv(bin), "agentform"), "apply", "--auto-approve"}
	switch f.edge {
	case "kernel":
		trace := filepath.Join(x.root, "trace")
		args := []string{"-f", "-b", "execve", "-qq", "-o", trace, "-e", "trace=" + f.op,
			"-e", fmt.Sprintf("inject=%s:%s:when=%d", f.op, f.kind, f.nth)}
		out, code = x.run("strace", append(args, apply...)...)
		said, err := os.ReadFile(trace)
		return out, code, err == nil && regexp.MustCompile(`INJECTED|DELAYED|killed by SIGKILL`).Match(said)
	case "disk":
		defer x.fill(f.op)()
		out, code = x.run(apply[0], apply[1:]...)
		return out, code, true
	}
	wrapper := x.wrapper(f.edge)
	for _, ext := range []string{".count", ".met"} {
		_ = os.Remove(wrapper + ext)
	}
	if err := os.WriteFile(wrapper+".fault", []byte(f.op+"\t"+strconv.Itoa(f.nth)+"\t"+f.kind), 0o600); err != nil {
		x.t.Fatal(err)
	}
	out, code = x.run(apply[0], apply[1:]...)
	if err := os.Remove(wrapper + ".fault"); err != nil {
		x.t.Fatal(err)
	}
	_, err := os.Stat(wrapper + ".met")
	return out, code, err == nil
}

// fill fills the disk up to so many bytes; the function empties it again. Without a
// disk of its own nothing can be made in the directory for a while.
func (x *torture) fill(left string) (empty func()) {
	dir := filepath.Dir(x.statePath())
	if os.Getuid() != 0 {
		if err := os.Chmod(dir, 0o500); err != nil {
			x.t.Fatal(err)
		}
		return func() { _ = os.Chmod(dir, 0o700) }
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		x.t.Fatal(err)
	}
	keep, err := strconv.ParseInt(left, 10, 64)
	if err != nil {
		x.t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, int64(disk.Bavail)*disk.Bsize-keep), 0o600); err != nil {
		x.t.Fatal(err)
	}
	return func() { _ = os.Remove(filler) }
}

// told fails the test unless whoever applied was told what failed, and of which session,
// or that all is well.
func (x *torture) told(f fault, met bool, out string, code int) {
	x.t.Helper()
	switch {
	case !met && code != 0:
		x.t.Errorf("%s: nothing failed, and the exit code is %d:\n%s", f, code, out)
	case strings.Contains(out, "goroutine ") || strings.Contains(out, "panic:"):
		x.t.Errorf("%s: it crashed:\n%s", f, out)
	case f.kind == "signal=KILL" || code == 0:
		return
	case code != 1:
		x.t.Errorf("%s: the exit code is %d:\n%s", f, code, out)
	}
	_, errors, _ := strings.Cut(out, "Error: ")
	why, isErrno := errnos[strings.TrimPrefix(f.kind, "error=")]
	if !isErrno && f.kind == "full" {
		why, isErrno = errnos["ENOSPC"], os.Getuid() == 0
	}
	if errors == "" || isErrno && !strings.Contains(errors, why) || !regexp.MustCompile(`session\.\w+|state|tmux|docker|folder|\.agentform`).MatchString(errors) {
		x.t.Errorf("%s: the error says not enough:\n%s", f, out)
	}
}
