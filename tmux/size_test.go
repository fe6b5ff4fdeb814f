//go:build real

package tmux_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// asks is an agent with a question of seven lines, drawn as far as the terminal has room.
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
	asked := func(what string, want bool, names ...string) {
		t.Helper()
		wait.For(t, what, func() (any, bool) {
			lives, err := b.runtime.Observe(t.Context(), true)
			n := 0
			for _, l := range lives {
				seen := strings.Contains(l.Screen, "Do you want to run") && strings.Contains(l.Screen, "Esc to cancel")
				if slices.Contains(names, l.Location.Name) && seen == want {
					n++
				}
			}
			return []any{lives, err}, err == nil && n == len(names)
		})
	}
	sized := func(what string, p session.Location, attached, columns, rows int) {
		t.Helper()
		wait.For(t, what, func() (any, bool) {
			l, _ := b.see(t, p)
			return l, l.Attached == attached && l.Size == [2]int{columns, rows}
		})
	}
	terminal := func(columns, rows string) {
		t.Helper()
		args := append([]string{"-f", "/dev/null", "-S", outer, "new-session", "-d", "-x", columns, "-y", rows, "--", "env", "-u", "TMUX"}, b.runtime.Attach(p)...)
		if out, err := exec.Command("tmux", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", outer, "kill-server").Run() })
	// A server that is about to exit refuses the next terminal.
	leaves := func() {
		t.Helper()
		wait.For(t, "the outer server leaves", func() (any, bool) {
			left := b.processes(t)
			return left, !slices.ContainsFunc(left, func(line string) bool { return strings.Contains(line, outer) })
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

	asked("the question is seen", true, "app", "other")
	terminal("40", "6")
	sized("the window is as small as the terminal", p, 1, 40, 5)
	asked("the question is cut off", false, "app")
	killed()
	sized("the window is restored after a kill", p, 0, 200, 50)
	asked("the question is seen after a kill", true, "app")

	terminal("50", "7")
	sized("the next terminal sets its own size", p, 1, 50, 6)
	b.tmux(t, p.Socket, "detach-client", "-t", client())
	sized("the window is restored after a detach", p, 0, 200, 50)
	leaves()

	terminal("60", "8")
	sized("a third terminal sets its own size", p, 1, 60, 7)
	b.tmux(t, p.Socket, "switch-client", "-c", client(), "-t", "=other:")
	sized("the window is restored after a switch", p, 0, 200, 50)
	sized("the other window is as small as the terminal", other, 1, 60, 7)
	killed()
	sized("the other window is restored", other, 0, 200, 50)
	asked("both questions are seen", true, "app", "other")
}
