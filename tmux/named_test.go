//go:build real

package tmux_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// TestServerOfAPersonsOwn checks that a user's own server keeps its options and sessions.
func TestServerOfAPersonsOwn(t *testing.T) {
	b := newBed(t)
	socket := filepath.Join(b.root, "mine")
	config := b.config
	config.Server = socket
	r := tmux.New(config)
	l := b.launch(t, "one")
	if _, err := r.Create(t.Context(), l); err == nil || !strings.Contains(err.Error(), "start it with tmux -S "+socket+" new-session -d") {
		t.Fatalf("without a server: %v", err)
	}
	b.tmux(t, socket, "-f", "/dev/null", "new-session", "-d", "-s", "work", "sleep", "1000")
	t.Cleanup(func() { b.tmux(t, socket, "kill-session", "-t", "=work") })
	before := b.tmux(t, socket, "show-options", "-g") + b.tmux(t, socket, "show-options", "-gw")

	l = b.launch(t, "two")
	p, err := r.Create(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if p.Socket != socket {
		t.Errorf("it lives on %s", p.Socket)
	}
	lives, err := r.Observe(t.Context(), false)
	if err != nil || len(lives) != 1 || lives[0].Liveness != session.Alive || lives[0].Mark.Run != l.Mark.Run {
		t.Fatalf("%+v, %v", lives, err)
	}
	// These are not the project's own servers.
	if lives, err := b.runtime.Observe(t.Context(), false); err != nil || len(lives) != 0 {
		t.Errorf("%+v, %v", lives, err)
	}
	if err := r.Stop(t.Context(), p, l.Mark.Run, session.Stop{Signal: "SIGTERM"}); err != nil {
		t.Fatal(err)
	}
	if lives, err = r.Observe(t.Context(), false); err != nil || len(lives) != 1 || lives[0].Liveness != session.Dead || !lives[0].PlaceUp {
		t.Fatalf("stopped: %+v, %v", lives, err)
	}
	if p, err = r.Restart(t.Context(), p, b.launch(t, "two")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Create(t.Context(), b.launch(t, "two")); err == nil || !strings.Contains(err.Error(), session.ErrExists.Error()) {
		t.Errorf("the name is taken: %v", err)
	}
	if err := r.Remove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if names := strings.TrimSpace(b.tmux(t, socket, "list-sessions", "-F", "#{session_name}")); names != "work" {
		t.Errorf("left on it: %q", names)
	}
	if after := b.tmux(t, socket, "show-options", "-g") + b.tmux(t, socket, "show-options", "-gw"); after != before {
		t.Error("its settings were changed")
	}
}
