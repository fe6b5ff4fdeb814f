//go:build real

package tmux_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// asks is an agent with a question of seven lines, of which the terminal shows what fits.
const asks = `draw() {
	set -- $(stty size)
	printf '\033[2J\033[H'
	printf '%s\n' "Do you want to run this command?" "  rm -rf build" "" "  1. Yes" "  2. No" "" "  Esc to cancel" | tail -n $(($1 - 1)) | cut -c "1-$2"
}
trap resized=1 WINCH
resized=1
while :; do
	[ -z "$resized" ] || { resized=; draw; }
	sleep 0.05
done`

// TestSmallTerminalLeaves checks that a window is restored after a small terminal has
// detached in any way, and that the next one sets its own size.
func TestSmallTerminalLeaves(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.shell(t, "app", asks))
	other := b.create(t, b.shell(t, "other", asks))
	if p.Socket != other.Socket {
		t.Fatalf("the sessions are on two servers, %s and %s", p.Socket, other.Socket)
	}
	outer := filepath.Join(b.root, "outer")
	asked := func(p session.Location) bool {
		lives, err := b.runtime.Observe(t.Context(), true)
		return err == nil && slices.ContainsFunc(lives, func(l session.Live) bool {
			return l.Location.Name == p.Name && strings.Contains(l.Screen, "Do you want to run") && strings.Contains(l.Screen, "Esc to cancel")
		})
	}
	sized := func(p session.Location, attached, columns, rows int) func() bool {
		return func() bool {
			l, _ := b.see(t, p)
			return l.Attached == attached && l.Size == [2]int{columns, rows}
		}
	}
	terminal := func(columns, rows string) {
		t.Helper()
		args := append([]string{"-f", "/dev/null", "-S", outer, "new-session", "-d", "-x", columns, "-y", rows, "--", "env", "-u", "TMUX"}, b.runtime.Attach(p)...)
		if out, err := exec.Command("tmux", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", outer, "kill-server").Run() })
	// A server that is about to exit turns the next terminal away.
	leaves := func() {
		t.Helper()
		until(t, "the outer server leaves", func() bool {
			return !slices.ContainsFunc(b.processes(t), func(line string) bool { return strings.Contains(line, outer) })
		})
	}
	killed := func() {
		t.Helper()
		b.tmux(t, outer, "kill-server")
		leaves()
	}
	client := func() string {
		return strings.TrimSpace(b.tmux(t, p.Socket, "list-clients", "-F", "#{client_name}"))
	}

	until(t, "the question is seen", func() bool { return asked(p) && asked(other) })
	terminal("40", "6")
	until(t, "the window is as small as the terminal", sized(p, 1, 40, 5))
	until(t, "the question is cut off", func() bool { return !asked(p) })
	killed()
	until(t, "the window is restored after a kill", sized(p, 0, 200, 50))
	until(t, "the question is seen after a kill", func() bool { return asked(p) })

	terminal("50", "7")
	until(t, "the next terminal sets its own size", sized(p, 1, 50, 6))
	b.tmux(t, p.Socket, "detach-client", "-t", client())
	until(t, "the window is restored after a detach", sized(p, 0, 200, 50))
	leaves()

	terminal("60", "8")
	until(t, "a third terminal sets its own size", sized(p, 1, 60, 7))
	b.tmux(t, p.Socket, "switch-client", "-c", client(), "-t", "=other:")
	until(t, "the window is restored after a switch", sized(p, 0, 200, 50))
	until(t, "the other window is as small as the terminal", sized(other, 1, 60, 7))
	killed()
	until(t, "the other window is restored", sized(other, 0, 200, 50))
	until(t, "both questions are seen", func() bool { return asked(p) && asked(other) })
}
