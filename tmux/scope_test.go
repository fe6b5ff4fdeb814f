//go:build real

package tmux_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/tmux"
)

// TestScope checks that only a command that starts a server runs in the scope, and that
// only the scope gets the variables that lead to systemd.
func TestScope(t *testing.T) {
	b := newBed(t)
	dir := t.TempDir()
	scope := filepath.Join(dir, "scope")
	script := "#!/bin/sh\necho \"$XDG_RUNTIME_DIR\" \"$@\" >>'" + dir + "/scoped'\nshift\nexec \"$@\"\n"
	executable.Write(t, scope, []byte(script), 0o700)
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/somebody")
	b.config.Scope = []string{scope, "--"}
	b.runtime = tmux.New(b.config)
	p := b.create(t, b.shell(t, "app", `printf '\033]2;led to %s\007' "${XDG_RUNTIME_DIR-nowhere}"; read x`))
	wait.For(t, "it runs", func() (any, bool) { live, _ := b.see(t, p); return live.Title, live.Title == "led to nowhere" })
	if live, _ := b.see(t, p); live.Liveness != session.Alive {
		t.Errorf("%+v", live)
	}
	said, err := os.ReadFile(filepath.Join(dir, "scoped"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(said), "\n"); n != 1 || !strings.HasPrefix(string(said), "/run/user/somebody -- env -u XDG_RUNTIME_DIR ") || !strings.Contains(string(said), " start-server ;") {
		t.Errorf("in a scope: %s", said)
	}
	if env := b.tmux(t, p.Socket, "show-environment", "-g"); strings.Contains(env, "XDG_RUNTIME_DIR") {
		t.Errorf("the server's environment: %s", env)
	}
}
