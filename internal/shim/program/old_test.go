//go:build real

package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/test/wait"
)

// oldProgram builds the program as an older agentform had it.
func oldProgram(t *testing.T) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/agentform-guest.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := txtar.Write(archive, dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "agentform-guest")
	build := exec.Command("go", "build", "-o", path, "./cmd/agentform-guest")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// oldLaunch is the launch.json of an older agentform.
const oldLaunch = `{"version":1,"run":%q,"address":"session.old","dir":%q,"socket":%q,"argv":["sh","-c","trap 'exit 3' TERM; touch up; sleep 60 & wait"],` +
	`"env":["A=1","PATH=%s"],"signal":"SIGTERM","grace_ns":10000000000,"timeout_ns":0,"spec":{"kind":"old"},"inherited_secrets":["KEY"]}`

// TestOldRuns shows that a session of an older agentform, whose program was called
// agentform-guest, is still observed, paused, probed, stopped and started again.
func TestOldRuns(t *testing.T) {
	old := oldProgram(t)
	t.Run("shim", func(t *testing.T) { testOldShim(t, old) })
	t.Run("init", func(t *testing.T) { testOldInit(t, old) })
}

func testOldShim(t *testing.T, old string) {
	r := prepare(t, "true", nil) // for its folders
	write := func(dir, run string) {
		t.Helper()
		text := fmt.Sprintf(oldLaunch, run, r.work, r.config.Socket, os.Getenv("PATH"))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, rundir.LaunchFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := func(program, dir string) (*exec.Cmd, rundir.Facts) {
		t.Helper()
		cmd := exec.Command(program, dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		return cmd, r.up(dir)
	}
	write(r.dir, r.config.Run)
	cmd, f := start(old, r.dir)
	if !f.Claimed || !f.Agent.Alive() || f.Shim.PID != cmd.Process.Pid || f.BootID != proc.BootID() || string(f.Spec) != `{"kind":"old"}` || f.Socket != r.config.Socket {
		t.Errorf("facts: %+v", f)
	}
	if env, inherited, err := rundir.LaunchEnv(r.dir); err != nil || env[0] != "A=1" || inherited[0] != "KEY" {
		t.Errorf("environment: %v, %v, %v", env, inherited, err)
	}
	hook := exec.Command(old, shim.NotifyMode, r.dir)
	hook.Stdin = strings.NewReader(`{"hook_event_name":"Stop"}`)
	if err := hook.Run(); err != nil {
		t.Error(err)
	}
	if signals, err := rundir.ReadSignals(r.dir); err != nil || len(signals) != 1 {
		t.Errorf("signals: %v, %v", signals, err)
	}
	c := r.client()
	ctx := t.Context()
	hello, err := c.Hello(ctx)
	if err != nil || hello.Run != r.config.Run || hello.Shim != f.Shim {
		t.Errorf("hello: %+v, %v", hello, err)
	}
	if err := c.Pause(ctx); err != nil {
		t.Error(err)
	}
	if s, err := c.Status(ctx); err != nil || !s.Frozen || s.Agent != f.Agent {
		t.Errorf("status: %+v, %v", s, err)
	}
	if err := c.Resume(ctx); err != nil {
		t.Error(err)
	}
	if p, err := c.Probe(ctx, shim.Probe{Argv: []string{"sh", "-c", "echo $A; exit 4"}}); err != nil || p.Code != 4 || p.Output != "1\n" {
		t.Errorf("probe: %+v, %v", p, err)
	}
	timeout := time.Hour
	if err := c.Set(ctx, shim.Settings{Timeout: &timeout}); err != nil {
		t.Error(err)
	}
	if exit, err := c.Stop(ctx, "SIGTERM", 5*time.Second); err != nil || exit.Cause != rundir.CauseRequested || exit.Code != 3 {
		t.Errorf("stop: %+v, %v", exit, err)
	}
	if _, exit := r.ended(cmd); exit.Code != 3 {
		t.Errorf("exit: %+v", exit)
	}
	if err := rundir.Discard(r.dir); err != nil {
		t.Error(err)
	}

	// The next run of the session is this version's, and the folder of the last one goes.
	next := filepath.Join(filepath.Dir(r.dir), r.config.Run+"n")
	write(next, r.config.Run+"n")
	again, f := start(program, next)
	if _, err := r.client().Stop(ctx, "SIGTERM", 5*time.Second); err != nil || f.Shim.PID != again.Process.Pid {
		t.Errorf("the next run: %v", err)
	}
	again.Wait()
	if err := rundir.Remove(next); err != nil {
		t.Error(err)
	}
}

// testOldInit shows that the first process of a container that an older agentform made
// is still asked how its run is, and ends it.
func testOldInit(t *testing.T, old string) {
	r := prepare(t, "touch up; exec sleep 60", nil)
	first := exec.Command(old, shim.InitMode, filepath.Dir(r.dir))
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Wait()
	defer first.Process.Kill()
	init := shim.Init{Dir: filepath.Dir(r.dir)}
	wait.For(t, "the init answers", func() (any, bool) {
		v, err := init.Hello(t.Context())
		return []any{v, err}, err == nil && v == rundir.Version
	})
	cmd := exec.Command(old, r.dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	wait.For(t, "the init sees the agent", func() (any, bool) {
		in, err := init.Look(t.Context(), r.dir, "", "", false)
		if err != nil {
			t.Fatal(err)
		}
		return in, in.Claimed && in.Shim && in.Agent && in.BootID == proc.BootID()
	})
	if err := init.End(t.Context(), r.config.Run, r.dir, "SIGTERM", 5*time.Second); err != nil {
		t.Error(err)
	}
	<-ended
	if in, err := init.Look(t.Context(), r.dir, "", "", false); err != nil || in.Agent || in.Exit == nil || in.Exit.Signal != "SIGTERM" {
		t.Errorf("after the end: %+v, %v", in, err)
	}
}
