//go:build real

package docker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// dies waits until the session's agent is observed dead.
func (b *bed) dies(t *testing.T, p session.Location) (l session.Live) {
	t.Helper()
	wait.For(t, "the agent is dead", func() (any, bool) {
		l, _ = b.see(t, p)
		return l, l.Liveness == session.Dead
	})
	return l
}

// restarts starts a new run, which must accept input, in the same container.
func (b *bed) restarts(t *testing.T, p session.Location) {
	t.Helper()
	again, err := b.runtime.Restart(t.Context(), p, b.launch(t, p.Name))
	if err != nil {
		t.Fatal(err)
	}
	if again != p {
		t.Errorf("restarted in %+v, want %+v", again, p)
	}
	b.send(t, p, "hello")
	b.hears(t, p, "hello")
}

// TestStale checks that whatever ends in a running container leaves a stale session, which is
// restarted in the same container.
func TestStale(t *testing.T) {
	for what, end := range map[string]string{
		"the shim is killed": "kill -9 $(ps -o ppid= -p %d)",
		"tmux is killed":     "tmux -S " + shim.TmuxSocket + " kill-server; : %d",
		"all is killed":      "kill -9 -1; : %d",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			p := b.create(t, b.launch(t, "stale"))
			b.listening(t, p)
			l, _ := b.see(t, p)
			// The command may be among what it kills.
			_, _ = dockertest.Docker(nil, "exec", p.Name, "sh", "-c", fmt.Sprintf(end, l.Agent.PID))
			if l := b.dies(t, p); !l.PlaceUp {
				t.Errorf("the container is down: %s", l.UnknownReason)
			}
			b.restarts(t, p)
		})
	}
}

// TestContainerEnds checks that a stopped container differs from a stale session, has a reason, and
// is started again.
func TestContainerEnds(t *testing.T) {
	for how, c := range map[string]struct {
		end    []string
		reason string
	}{
		"stopped": {[]string{"stop", "-t", "5"}, "stopped"},
		"killed":  {[]string{"kill"}, "killed"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			l := b.launch(t, "ends")
			l.Secrets = map[string]string{"TOKEN": "sesame"}
			p := b.create(t, l)
			b.listening(t, p)
			b.docker(t, append(c.end, p.Name)...)
			live, ok := b.see(t, p)
			if !ok || live.PlaceUp || live.Liveness != session.Dead || !strings.Contains(live.UnknownReason, c.reason) {
				t.Errorf("there %v, up %v, %s, %q; want a container that is down, %s", ok, live.PlaceUp, live.Liveness, live.UnknownReason, c.reason)
			}
			b.restarts(t, p)
		})
	}
}

// TestNeverStarted checks that a container that was never started is replaced, since an engine that
// was killed meanwhile may never start it.
func TestNeverStarted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "unstarted")
	old := b.docker(t, "create", "--name", l.Name, "--network", "none", "--label", "agentform.project="+l.Mark.Project,
		"--label", "agentform.id="+l.Mark.ID, "--label", "agentform.address="+string(l.Mark.Address),
		"-v", filepath.Join(b.config.DataDir, "containers", l.Mark.ID, "runs")+":/runs", b.image, "sleep", "1000")
	live, ok := b.see(t, session.Location{Name: l.Name})
	if !ok || live.Foreign || live.PlaceUp || live.UnknownReason != "the container was never started" {
		t.Errorf("there %v, %+v; want ours, and never started", ok, live)
	}
	p, err := b.runtime.Restart(t.Context(), live.Location, l)
	if err != nil {
		t.Fatal(err)
	}
	b.send(t, p, "hello")
	b.hears(t, p, "hello")
	if p.Container == old || strings.Contains(b.docker(t, "ps", "-aq", "--no-trunc"), old) {
		t.Errorf("started in %s, which was never started", p.Container)
	}
}

// TestOutOfMemory checks that an agent that uses up the memory is killed before its init.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(d *session.DockerConfig) { d.Memory = 96 << 20 }
	l := b.launch(t, "hog")
	l.Argv = []string{"sh", "-c", "a=xxxxxxxxxxxxxxxx; while :; do a=$a$a; done"}
	p := b.create(t, l)
	live := b.dies(t, p)
	if !live.PlaceUp {
		if !strings.Contains(live.UnknownReason, "memory") {
			t.Errorf("the container is down: %s", live.UnknownReason)
		}
	} else if live.Exit == nil || live.Exit.String() != "killed by SIGKILL: out of memory" {
		t.Errorf("exit %+v, want SIGKILL, out of memory", live.Exit)
	}
	b.restarts(t, p)
}

// TestAnotherProject checks that no operation changes another project's container.
func TestAnotherProject(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "theirs"))
	l, _ := b.see(t, p)
	config := b.config
	config.Lineage = "another"
	other := docker.New(config)
	defer other.Close()
	ctx := t.Context()
	_, restart := other.Restart(ctx, p, b.launch(t, "theirs"))
	for what, err := range map[string]error{
		"restart": restart,
		"stop":    other.Stop(ctx, p, l.Mark.Run, session.Stop{}),
		"remove":  other.Remove(ctx, p),
		"send":    other.Send(ctx, p, session.Input{Text: "x"}),
		"pause":   other.Pause(ctx, p, l.Mark.Run, session.Detach),
		"resume":  other.Resume(ctx, p, l.Mark.Run),
	} {
		if err == nil {
			t.Errorf("%s: it did that to another project's", what)
		}
	}
	if now, ok := b.see(t, p); !ok || now.Liveness != session.Alive || now.InputOff {
		t.Errorf("there %v, %+v; want it as it was", ok, now)
	}
}

// TestFailedCreate checks that a failed start leaves nothing behind.
func TestFailedCreate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for what, change := range map[string]func(*session.Launch){
		"no such command": func(l *session.Launch) { l.Argv = []string{"no-such-agent"} },
		"no such image":   func(l *session.Launch) { l.Spec.Runtime.Docker.Image = "agentform-test:none" },
		"no such network": func(l *session.Launch) { l.Spec.Runtime.Docker.Network = "no-such-network" },
		"no such mount": func(l *session.Launch) {
			l.Spec.Runtime.Docker.Mounts = []session.Mount{{Source: "/no/such", Target: "/x"}}
		},
	} {
		l := b.launch(t, "never")
		l.Secrets = map[string]string{"TOKEN": "sesame"}
		change(&l)
		p, err := b.runtime.Create(t.Context(), l)
		if err == nil {
			t.Errorf("%s: created %+v", what, p)
			continue
		}
		if left := b.docker(t, "ps", "-aq", "--filter", "name=^"+b.word); left != "" {
			t.Errorf("%s: it left a container", what)
		}
		if left, err := os.ReadDir(b.config.SocketDir); err != nil || len(left) > 0 {
			t.Errorf("%s: it left %v, %v", what, left, err)
		}
	}
}

// TestInterruptedCreate checks that an apply interrupted during a start leaves no container behind.
func TestInterruptedCreate(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond, 250 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		l := b.launch(t, fmt.Sprintf("cut-%d", after.Milliseconds()))
		p, err := b.runtime.Create(ctx, l)
		cancel()
		if err == nil { // it finished first
			if err := b.runtime.Remove(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s: %v, want the end of its time", after, err)
		}
		if left := b.docker(t, "ps", "-aq", "--filter", "name=^"+b.word); left != "" {
			t.Errorf("after %s: it left a container", after)
		}
		if left, err := os.ReadDir(b.config.SocketDir); err != nil || len(left) > 0 {
			t.Errorf("after %s: it left %v, %v", after, left, err)
		}
	}
}

// TestHostileSocket checks that a hostile init, which any process in a container can replace,
// cannot block the look: its session is unknown, and the other containers are observed.
func TestHostileSocket(t *testing.T) {
	flood := []byte(strings.Repeat("x", 1<<16))
	for what, answer := range map[string]func(net.Conn){
		"silent": func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, // until the client gives up
		"flooding": func(c net.Conn) {
			for _, err := c.Write(flood); err == nil; _, err = c.Write(flood) {
			}
		},
		"nonsense": func(c net.Conn) { fmt.Fprintln(c, `{"ok":true,"seen":[]}`) },
		"empty":    func(c net.Conn) { fmt.Fprintln(c, `{"ok":true}`) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			other := b.create(t, b.launch(t, "other"))
			p := b.create(t, b.launch(t, "hostile"))
			b.listening(t, p)
			socket := b.initSocket(t, p)
			if err := os.Remove(socket); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					go func() {
						answer(c)
						c.Close()
					}()
				}
			}()
			began := time.Now()
			live, ok := b.see(t, p)
			if !ok || live.Liveness != session.Unknown || live.UnknownReason == "" {
				t.Errorf("there %v, %s, %q; want unknown, and why", ok, live.Liveness, live.UnknownReason)
			}
			t.Logf("the look took %s", time.Since(began))
			if live, _ := b.see(t, other); live.Liveness != session.Alive {
				t.Errorf("the other is %s: %s", live.Liveness, live.UnknownReason)
			}
		})
	}
}

// initSocket is the socket of the first process of the place's container.
func (b *bed) initSocket(t *testing.T, p session.Location) string {
	t.Helper()
	for m := range strings.FieldsSeq(b.docker(t, "inspect", "-f", `{{range .Mounts}}{{.Source}}{{"\n"}}{{end}}`, p.Name)) {
		if strings.HasPrefix(m, b.config.SocketDir) {
			return filepath.Join(m, "k")
		}
	}
	t.Fatal("no folder of sockets is mounted")
	return ""
}

// TestHostileFolder checks that a link in place of a run's directory leads nowhere.
func TestHostileFolder(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "linking"))
	b.listening(t, p)
	elsewhere := filepath.Join(b.root, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "exit"), []byte(`{"cause":"self","code":77}`), 0o600); err != nil {
		t.Fatal(err)
	}
	l, _ := b.see(t, p)
	folder := filepath.Join(b.config.DataDir, "runs", l.Mark.Run)
	b.docker(t, "exec", p.Name, "sh", "-c", `rm -rf "$1"; ln -s "$2" "$1"`, "sh", folder, elsewhere)
	if l, ok := b.see(t, p); !ok || l.Exit != nil {
		t.Errorf("there %v, exit %+v: it was read through a link of the container's", ok, l.Exit)
	}
	if f, _, _ := docker.Facts(b.config.DataDir, b.config.SocketDir, l.Mark.Run); f.Exit != nil {
		t.Errorf("exit %+v was read through a link of the container's", f.Exit)
	}
}

// TestNoEngine checks that an unreachable engine is reported with a remedy, and is not an absence.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	config := b.config
	config.Host = "unix://" + filepath.Join(b.root, "none")
	none := docker.New(config)
	defer none.Close()
	_, observe := none.Observe(t.Context(), false)
	_, create := none.Create(t.Context(), b.launch(t, "x"))
	for what, err := range map[string]error{"observe": observe, "create": create,
		"stop":   none.Stop(t.Context(), session.Location{Runtime: "docker", Name: "x"}, newRun(), session.Stop{}),
		"remove": none.Remove(t.Context(), session.Location{Runtime: "docker", Name: "x"})} {
		if err == nil || !strings.Contains(err.Error(), "systemctl start docker") {
			t.Errorf("%s: %v; want what to do", what, err)
		}
	}
}
