//go:build real

package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// What the commands and the hub also do with containers.
var (
	_ session.Adopter       = (*docker.Runtime)(nil)
	_ session.TimeoutSetter = (*docker.Runtime)(nil)
	_ session.Prober        = (*docker.Runtime)(nil)
	_ session.Verifier      = (*docker.Runtime)(nil)
	_ session.EventSource   = (*docker.Runtime)(nil)
)

// theirs starts a container that is not agentform's, with these tests' agent in its tmux.
func (b *bed) theirs(t *testing.T, name string) string {
	t.Helper()
	name = b.called(name)
	b.docker(t, "run", "-d", "--network", "none", "--name", name, "-v", b.root+":/shared", "-w", "/shared", b.image, "sleep", "1000")
	b.docker(t, "exec", "-e", "STATE=/shared", name, "tmux", "-u", "new-session", "-d", "-s", "mine", "-c", "/shared", "sh", "-c", agent)
	wait.For(t, "it reads", func() (any, bool) {
		_, err := os.Stat(filepath.Join(b.root, "heard"))
		return err, err == nil
	})
	return name
}

// TestAdopt checks that a session started by another program is adopted while it runs, then
// observed, typed to, paused and ended like any other.
func TestAdopt(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	name := b.theirs(t, "person")
	ctx, r := t.Context(), b.runtime
	id := "docker:" + name
	found := r.Find(ctx, id)
	if found.Err != nil {
		t.Fatal(found.Err)
	}
	if l := found.Live; !l.Foreign || !l.PlaceUp || l.Liveness != session.Alive || l.Dir != b.root || !strings.Contains(strings.Join(l.Command, " "), "stty -echo") {
		t.Errorf("found %+v", *l)
	}
	m := session.Mark{Project: b.config.Lineage, Address: session.Single("person"), ID: "person-000000", Run: newRun(), Hash: "1:abc"}
	p, err := r.Adopt(ctx, id, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Adopt(ctx, id, m); !errors.Is(err, session.ErrExists) {
		t.Errorf("adopted twice: %v", err)
	}
	l, ok := b.see(t, p)
	if !ok || l.Foreign || l.Mark != m || l.Location != p || l.Liveness != session.Alive || l.Agent.PID == 0 || l.Size == [2]int{} {
		t.Errorf("there %v, %+v; want ours, alive, in %+v", ok, l, p)
	}
	if err := r.Send(ctx, p, session.Input{Text: "say well"}); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it says so", func() (any, bool) {
		text, err := r.Capture(ctx, p, 0)
		return []any{text, err}, err == nil && text == "well"
	})
	for _, mode := range []string{session.Detach, session.Freeze} {
		if err := r.Pause(ctx, p, m.Run, mode); err != nil {
			t.Fatal(err)
		}
		if l, _ := b.see(t, p); !l.InputOff || l.Frozen != (mode == session.Freeze) || l.Liveness != session.Alive {
			t.Errorf("%s: input off %v, frozen %v, %s", mode, l.InputOff, l.Frozen, l.Liveness)
		}
		if err := r.Send(ctx, p, session.Input{Text: "x"}); !errors.Is(err, session.ErrRefused) {
			t.Errorf("%s: sent: %v", mode, err)
		}
		if err := r.Resume(ctx, p, m.Run); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Probe(ctx, p, m.Run, []string{"true"}, 0); !errors.Is(err, session.ErrUnprobeable) {
		t.Errorf("probe without a shim: %v", err)
	}
	if err := r.Stop(ctx, p, m.Run, session.Stop{Signal: "SIGTERM"}); err != nil {
		t.Fatal(err)
	}
	if l, _ := b.see(t, p); l.Liveness != session.Dead || !l.PlaceUp || l.Exit == nil || l.Exit.Cause != "requested" {
		t.Errorf("stopped: %s, up %v, exit %+v", l.Liveness, l.PlaceUp, l.Exit)
	}
	next := b.launch(t, name)
	next.Mark.ID = m.ID
	if _, err := r.Restart(ctx, p, next); err == nil || !strings.Contains(err.Error(), "--replace") {
		t.Errorf("restart without a shim: %v; want what to do", err)
	}
	if err := r.Remove(ctx, p); err != nil {
		t.Fatal(err)
	}
	if _, there := b.see(t, p); there {
		t.Error("it still exists")
	}
}

// TestAdoptedExit checks that the exit of an adopted agent is known as far as tmux reports it.
func TestAdoptedExit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	m := session.Mark{Project: b.config.Lineage, Address: session.Single("left"), ID: "left-000000", Run: newRun()}
	p, err := b.runtime.Adopt(t.Context(), "docker:"+b.theirs(t, "left"), m)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.runtime.Send(t.Context(), p, session.Input{Text: "exit 7"}); err != nil {
		t.Fatal(err)
	}
	if l := b.dies(t, p); l.Exit == nil || l.Exit.Code != 7 {
		t.Errorf("exit %+v", l.Exit)
	}
	b.docker(t, "stop", "-t", "0", p.Name)
	if l, ok := b.see(t, p); !ok || l.Foreign || l.PlaceUp || l.Liveness != session.Dead {
		t.Errorf("its container stopped: there %v, %+v", ok, l)
	}
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	bare := b.called("bare")
	b.docker(t, "run", "-d", "--network", "none", "--name", bare, b.image, "sleep", "1000")
	down := b.called("down")
	b.docker(t, "create", "--name", down, b.image, "sleep", "1000")
	two := b.theirs(t, "two")
	b.docker(t, "exec", two, "tmux", "split-window")
	ours := b.create(t, b.launch(t, "ours"))
	for id, want := range map[string]string{
		"docker:" + bare:        "only sessions in tmux",
		"docker:" + down:        "is not running",
		"docker:" + two:         "2 panes",
		"docker:no-such-thing":  "no container",
		"docker:":               "invalid id",
		"tmux:default/whatever": "invalid id",
	} {
		if f := b.runtime.Find(t.Context(), id); f.Err == nil || !strings.Contains(f.Err.Error(), want) {
			t.Errorf("%s: %v, want %q", id, f.Err, want)
		}
	}
	if f := b.runtime.Find(t.Context(), "docker:"+ours.Name); f.Err != nil || f.Live.Foreign || f.Live.Location != ours {
		t.Errorf("ours: %+v, %v", f.Live, f.Err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := b.runtime.Find(ctx, "docker:"+ours.Name); f.Err == nil {
		t.Error("found without looking")
	}
}
