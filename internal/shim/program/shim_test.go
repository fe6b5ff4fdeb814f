//go:build real

package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/test/wait"
)

// program is the path of the real shim, built once.
var program string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "shim")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, install.Binary)
	build := exec.Command("go", "build", "-o", program, "github.com/agentform/agentform/cmd/agentform-shim")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build shim: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// start runs the shim without a terminal, in a process group of its own.
func (r *room) start() *exec.Cmd {
	r.t.Helper()
	cmd := exec.Command(program, r.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { cmd.Process.Kill() })
	return cmd
}

// running starts the shim and waits until the agent is recorded and has created the file "up".
func (r *room) running() (*exec.Cmd, rundir.Facts) {
	r.t.Helper()
	cmd := r.start()
	return cmd, r.up(r.dir)
}

// up waits until the agent of a run is recorded and has created the file "up".
func (r *room) up(dir string) (f rundir.Facts) {
	r.t.Helper()
	wait.For(r.t, "the agent is up", func() (any, bool) {
		var err error
		if f, err = rundir.ReadFacts(dir); err != nil {
			r.t.Fatal(err)
		}
		_, up := os.Stat(filepath.Join(r.work, "up"))
		return []any{f, up}, f.Agent.PID > 0 && up == nil
	})
	return f
}

// agent waits until the agent is recorded.
func (r *room) agent() (f rundir.Facts) {
	r.t.Helper()
	wait.For(r.t, "the agent is on record", func() (any, bool) {
		var err error
		f, err = rundir.ReadFacts(r.dir)
		return []any{f, err}, f.Agent.PID != 0
	})
	return f
}

// client speaks to the shim.
func (r *room) client() *shim.Client {
	r.t.Helper()
	c, err := shim.Dial(r.config.Socket)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

func (r *room) stop(signal string, grace time.Duration) rundir.Exit {
	r.t.Helper()
	e, err := r.client().Stop(context.Background(), signal, grace)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

// ended waits for the shim and reads how the run ended.
func (r *room) ended(cmd *exec.Cmd) (syscall.WaitStatus, rundir.Exit) {
	r.t.Helper()
	cmd.Wait()
	f, err := rundir.ReadFacts(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	if f.Exit == nil {
		r.t.Fatal("no exit was written")
	}
	return cmd.ProcessState.Sys().(syscall.WaitStatus), *f.Exit
}

// read returns a file of the agent once its last line is complete.
func (r *room) read(name string) string {
	r.t.Helper()
	var b []byte
	wait.For(r.t, name+" is written", func() (any, bool) {
		b, _ = os.ReadFile(filepath.Join(r.work, name))
		return string(b), bytes.HasSuffix(b, []byte("\n"))
	})
	return strings.TrimSpace(string(b))
}

// pid returns the process whose pid the agent wrote to a file.
func (r *room) pid(name string) proc.Process {
	r.t.Helper()
	var pid int
	if _, err := fmt.Sscan(r.read(name), &pid); err != nil {
		r.t.Fatal(err)
	}
	s, ok := proc.ReadStat(pid)
	if !ok {
		r.t.Fatalf("%s: process %d is not there", name, pid)
	}
	return s.Process
}

func TestLeavesLikeTheAgent(t *testing.T) {
	for _, c := range []struct {
		script string
		code   int
		signal syscall.Signal
	}{
		{"exit 0", 0, 0},
		{"exit 7", 7, 0},
		{"kill -TERM $$", 0, syscall.SIGTERM},
		{"kill -KILL $$", 0, syscall.SIGKILL},
		{"kill -QUIT $$", 0, syscall.SIGQUIT},
		{"kill -SEGV $$", 0, syscall.SIGSEGV},
		{"kill -INT $$", 0, syscall.SIGINT},
	} {
		t.Run(c.script, func(t *testing.T) {
			r := prepare(t, c.script, nil)
			status, exit := r.ended(r.start())
			if c.signal != 0 {
				if !status.Signaled() || status.Signal() != c.signal || exit.Signal != proc.SignalName(c.signal) {
					t.Errorf("shim left with %v, exit says %+v, want signal %v", status, exit, c.signal)
				}
			} else if status.Signaled() || status.ExitStatus() != c.code || exit.Code != c.code || exit.Signal != "" {
				t.Errorf("shim left with %v, exit says %+v, want code %d", status, exit, c.code)
			}
			if exit.Cause != rundir.CauseSelf || exit.Leftovers != 0 || exit.At.IsZero() || exit.Ran <= 0 {
				t.Errorf("exit is %+v", exit)
			}
			if _, err := os.Lstat(r.config.Socket); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the socket is still there: %v", err)
			}
		})
	}
}

func TestFailedStart(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*rundir.Config)
		code int
		says string
	}{
		"no command":     {func(c *rundir.Config) { c.Argv = []string{"agentform-no-such"} }, 127, "command not found in PATH"},
		"no path":        {func(c *rundir.Config) { c.Argv = []string{"./no-such"} }, 127, "command not found"},
		"not executable": {func(c *rundir.Config) { c.Argv = []string{"/etc/passwd"} }, 126, "not an executable file"},
		"not a program":  {func(c *rundir.Config) { c.Argv = []string{"./text"} }, 126, "exec format error"},
		"no folder":      {func(c *rundir.Config) { c.Dir += "/gone" }, 126, "no such file or directory"},
		"a file":         {func(c *rundir.Config) { c.Dir = "/etc/passwd" }, 126, "not a directory"},
		"no socket":      {func(c *rundir.Config) { c.Socket = filepath.Dir(c.Socket) + "/gone/g-1" }, 126, "the shim's socket"},
	} {
		t.Run(name, func(t *testing.T) {
			r := prepare(t, "true", nil, c.edit)
			if err := os.WriteFile(filepath.Join(r.work, "text"), []byte("just text\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program, r.dir)
			var out bytes.Buffer
			cmd.Stderr = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			status, exit := r.ended(cmd)
			if status.ExitStatus() != c.code || exit.Code != c.code || exit.Cause != rundir.CauseFailedStart {
				t.Errorf("left with %d, exit is %+v, want failed_start %d", status.ExitStatus(), exit, c.code)
			}
			if !strings.Contains(exit.Detail, c.says) || !strings.Contains(out.String(), c.says) || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("detail %q, terminal %q: want one line with %q", exit.Detail, &out, c.says)
			}
			if f, _ := rundir.ReadFacts(r.dir); f.Agent.PID != 0 || !f.Claimed {
				t.Errorf("facts are %+v", f)
			}
		})
	}
}

func TestRunsAtMostOnce(t *testing.T) {
	r := prepare(t, "echo $$ >> started; sleep 0.1; exit 3", nil)
	var cmds []*exec.Cmd
	for range 6 {
		cmds = append(cmds, r.start())
	}
	codes := map[int]int{}
	for _, cmd := range cmds {
		cmd.Wait()
		codes[cmd.ProcessState.ExitCode()]++
	}
	if codes[3] != 1 || codes[codeTaken] != 5 {
		t.Errorf("exit codes are %v, want one 3 and five %d", codes, codeTaken)
	}
	if n := len(strings.Fields(r.read("started"))); n != 1 {
		t.Errorf("the agent was started %d times", n)
	}
	if _, exit := r.ended(cmds[0]); exit.Code != 3 || exit.Cause != rundir.CauseSelf {
		t.Errorf("exit is %+v", exit)
	}
}

func TestFactsOfALiveRun(t *testing.T) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	cmd, f := r.running()
	if f.Shim.PID != cmd.Process.Pid || !f.Shim.Alive() || !f.Agent.Alive() || f.BootID != proc.BootID() || f.BootID == "" ||
		f.Exit != nil || string(f.Spec) != `{"a":1}` || f.Socket != r.config.Socket || time.Since(f.StartedAt) > time.Minute {
		t.Errorf("facts are %+v", f)
	}
	if wrong := (proc.Process{PID: f.Agent.PID, Start: f.Agent.Start + 1}); wrong.Alive() {
		t.Error("a process with another start time counts as the same")
	}
	agent, _ := proc.ReadStat(f.Agent.PID)
	if agent.Parent != f.Shim.PID {
		t.Errorf("the agent's parent is %d, want the shim %d", agent.Parent, f.Shim.PID)
	}
	for pid, same := range map[int]bool{f.Shim.PID: true, f.Agent.PID: true, os.Getpid(): false} {
		if pgrp, err := syscall.Getpgid(pid); err != nil || (pgrp == f.Shim.PID) != same {
			t.Errorf("process group of %d is %d (%v), the shim's is %d", pid, pgrp, err, f.Shim.PID)
		}
	}
	ours, _ := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", f.Shim.PID))
	theirs, _ := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", f.Agent.PID))
	var a, b int
	fmt.Sscan(string(ours), &a)
	fmt.Sscan(string(theirs), &b)
	if b != min(a+oomRaise, 1000) {
		t.Errorf("oom_score_adj of the shim is %d, of the agent %d", a, b)
	}
	r.stop("", 0)
}

func TestAgentGetsDefaultSignals(t *testing.T) {
	// Under nohup a test passes on that SIGHUP is ignored. tmux, which starts shims, does not.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	r := prepare(t, "grep -E '^Sig(Blk|Ign)' /proc/self/status > signals", nil)
	r.ended(r.start())
	// Signals 32 and 33 belong to the C library; make starts its children with both ignored.
	const libc = 1<<31 | 1<<32
	for line := range strings.Lines(r.read("signals")) {
		var name string
		var mask uint64
		if _, err := fmt.Sscanf(line, "%s %x", &name, &mask); err != nil || mask&^libc != 0 {
			t.Errorf("the agent was started with %q (%v)", line, err)
		}
	}
}

func TestEnvironmentAndSecrets(t *testing.T) {
	t.Setenv("TMUX", "/tmp/tmux,1,0")
	t.Setenv("TERM", "screen-256color")
	t.Setenv("OUTER", "1")
	r := prepare(t, "env > env; echo >> env; touch up; exec sleep 60", map[string]string{"TOKEN": "geheim-4711"}, func(c *rundir.Config) {
		c.Env = append(c.Env, "A=1", "A=2", "TMUX=x", "TMUX_PANE=%1", "AGENTFORM_VAR_x=1", "AGENTFORM_RUN=other", "COLORTERM=truecolor", "TERM=dumb", "TERM_PROGRAM=outer")
	})
	kept := filepath.Join(filepath.Dir(r.config.Socket), "s-"+r.config.Run)
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the secrets' file: %v, %v", info, err)
	}
	cmd, f := r.running()
	env := "\n" + r.read("env") + "\n"
	for _, want := range []string{"A=2", "TERM=screen-256color", "COLORTERM=truecolor", "TOKEN=geheim-4711", "AGENTFORM_RUN=" + r.config.Run, "PWD=" + r.work} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("the agent's environment lacks %s:%s", want, env)
		}
	}
	for _, not := range []string{"TMUX", "AGENTFORM_VAR", "OUTER", "A=1", "TERM=dumb", "TERM_PROGRAM"} {
		if strings.Contains(env, "\n"+not) {
			t.Errorf("the agent's environment has %s:%s", not, env)
		}
	}
	if _, err := os.Lstat(kept); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the secrets' file is still there: %v", err)
	}
	for _, path := range []string{
		filepath.Join(r.dir, rundir.LaunchFile), filepath.Join(r.dir, rundir.RunFile), filepath.Join(r.dir, rundir.ClaimFile),
		fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid), fmt.Sprintf("/proc/%d/cmdline", cmd.Process.Pid), fmt.Sprintf("/proc/%d/cmdline", f.Agent.PID),
	} {
		if b, err := os.ReadFile(path); err != nil || bytes.Contains(b, []byte("geheim")) {
			t.Errorf("%s: %v, holds the secret: %v", path, err, err == nil)
		}
	}
	r.stop("", 0)
}
