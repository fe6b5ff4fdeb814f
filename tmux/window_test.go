//go:build real

package tmux_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// TestWindowBearsTheAddress checks that the status line shows the session's address, and that tmux
// does not interpret formats in it.
func TestWindowBearsTheAddress(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	window := func(p session.Location) string {
		return strings.TrimSpace(b.tmux(t, p.Socket, "list-windows", "-t", "="+p.Name, "-F", "#{window_name}"))
	}
	l := b.launch(t, "plain")
	l.Mark.Address = session.Keyed("worker", "web")
	if got := window(b.create(t, l)); got != `worker["web"]` {
		t.Errorf("window %q", got)
	}
	if got := window(b.create(t, b.launch(t, "odd"))); !strings.HasPrefix(got, "w[") || strings.ContainsAny(got, "#%\n") {
		t.Errorf("window %q", got)
	}
}

// TestRestartShowsTheNewRunAlone checks that the screen and its history contain nothing of the old
// runs.
func TestRestartShowsTheNewRunAlone(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const old = `for i in $(seq 120); do echo "old news $i"; done; exit 3`
	p := b.create(t, b.shell(t, "api", old))
	shows := func() string {
		text, err := b.runtime.Capture(t.Context(), p, 0)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, script := range []string{old, `echo "a new run"; read x`} {
		wait.For(t, "the run is over", func() (any, bool) {
			l, ok := b.see(t, p)
			text := shows()
			return []any{l, text}, ok && l.Liveness == session.Dead && strings.Contains(text, "old news 120")
		})
		var err error
		if p, err = b.runtime.Restart(t.Context(), p, b.shell(t, "api", script)); err != nil {
			t.Fatal(err)
		}
	}
	wait.For(t, "the new run shows itself", func() (any, bool) { text := shows(); return text, strings.Contains(text, "a new run") })
	if got := strings.TrimSpace(shows()); got != "a new run" {
		t.Errorf("after a restart the session shows\n%s", got)
	}
}
