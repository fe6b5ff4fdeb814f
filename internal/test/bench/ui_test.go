//go:build real

package bench

import (
	"bytes"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/creack/pty"
)

const (
	// The goals: until the sessions are shown, and of a core at rest.
	paintedSoon  = 100 * time.Millisecond
	uiRestingCPU = 0.02
	// restsAfter is when ui counts as at rest.
	restsAfter = 13 * time.Second
)

// terminalPage is `agentform ui` beside sessions that do nothing: until it shows them, and
// how much of a core it takes at rest, the tmux clients that it starts included.
func terminalPage(t *testing.T, m *measurement) {
	n, watched := min(*most, 200), 10*time.Second
	if m.full {
		watched = idleFor
	}
	p := newRepository(t, m.bin)
	p.destroyed(t)
	p.manifest(t, n, fmt.Sprintf(`
session "s" {
  count = %d
  agent = agent.idle
  workspace {
    mode = "plain"
  }
}
`, n))
	p.run(t, "agentform", "apply", "--auto-approve")
	painted := m.turns(11, func() time.Duration {
		took, page := p.page(t, "s[0]")
		end(page)
		return took
	})
	_, page := p.page(t, "s[0]")
	defer end(page)
	time.Sleep(restsAfter)
	before := processorTime(t, page.Process.Pid)
	time.Sleep(watched)
	share := (processorTime(t, page.Process.Pid) - before).Seconds() / watched.Seconds()
	beside := fmt.Sprintf("ui, %d idle tmux sessions: ", n)
	m.add(Row{Work: beside + "first paint", Took: Time(painted[0]), Shown: true,
		Goals: []Goal{{Says: "≤ 100 ms", Got: painted[0].Seconds(), Bound: paintedSoon.Seconds()}}})
	m.add(Row{Work: beside + "processor at rest", Took: Quantity{share, Share},
		Goals: []Goal{{Says: "≤ 2 % of a core", Got: 100 * share, Bound: 100 * uiRestingCPU}}})
}

// page starts ui and returns how long it took until a text was on its terminal.
func (p project) page(t testing.TB, text string) (time.Duration, *exec.Cmd) {
	t.Helper()
	c := p.command("agentform", "ui")
	c.Env = append(c.Env, "TERM=xterm-256color")
	began := time.Now()
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	shown := make(chan struct{})
	go func() {
		var all []byte
		b := make([]byte, 1<<16)
		for found := false; ; {
			n, err := terminal.Read(b)
			if err != nil {
				return
			}
			if all = append(all, b[:n]...); !found && bytes.Contains(all, []byte(text)) {
				found = true
				close(shown)
			}
		}
	}()
	select {
	case <-shown:
		return time.Since(began), c
	case <-time.After(time.Minute):
		t.Fatalf("ui does not show %q", text)
		return 0, nil
	}
}

// end ends a program.
func end(c *exec.Cmd) {
	_ = c.Process.Kill()
	_ = c.Wait()
}
