//go:build real

package cli_test

import (
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// TestAttachSwitches: attached to one session, a person attaches to another from
// inside: the terminal that is there shows it, and no tmux shows itself in
// itself.
func TestAttachSwitches(t *testing.T) {
	w := newWorld(t, `
agent "fake" {
  command = ["fakeagent"]
  ready   = "ready>"
}

session "shop" {
  for_each = toset(["api", "web"])
  agent    = agent.fake
  branch   = "agents/${each.key}"
}
`)
	w.run("apply", "--auto-approve", "--wait")
	outer := w.command("attach", `shop["api"]`)
	outer.Env = append(outer.Env, "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(outer, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var screen screen
	go io.Copy(&screen, terminal) // ends with the terminal
	screen.await(t, "ready>")

	sockets, err := filepath.Glob(filepath.Join(filepath.Dir(w.dir), "run", "agentform", "*", "tmux-0"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets %v, %v", sockets, err)
	}
	ask := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("tmux", append([]string{"-S", sockets[0]}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	from := ask("list-clients", "-F", "#{client_session}")

	inner := w.command("attach", `shop["web"]`)
	pane := ask("list-panes", "-t", "="+from+":", "-F", "#{pane_id}")
	inner.Env = append(inner.Env, "TERM=tmux-256color", "TMUX="+sockets[0]+",1,0", "TMUX_PANE="+pane)
	inside, err := pty.Start(inner)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	said, _ := io.ReadAll(inside) // a terminal whose other side has gone ends with an error
	if err := inner.Wait(); err != nil || !strings.Contains(string(said), "Ctrl-b L returns here") {
		t.Fatalf("attach: %v: %s", err, said)
	}
	if to := ask("list-clients", "-F", "#{client_session}"); to == from || !strings.Contains(to, "shop-web") {
		t.Errorf("the terminal shows %q, and showed %q", to, from)
	}
	for _, key := range []string{"\x02", "d"} {
		time.Sleep(50 * time.Millisecond) // keys at once are a paste to tmux, and no command
		if _, err := terminal.WriteString(key); err != nil {
			t.Fatal(err)
		}
	}
	if err := ended(t, outer, &screen); err != nil {
		t.Fatalf("attach: %v\n%s", err, &screen)
	}
}
