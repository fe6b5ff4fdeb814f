//go:build real

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// changes is what it costs to show what sessions changed: the numbers of all of them while
// nothing changes, and the diff of one.
func changes(t *testing.T, m *measurement) {
	p := newRepository(t, m.bin)
	t.Cleanup(func() {
		for _, socket := range p.sockets(t) {
			p.run(t, "tmux", "-S", socket, "kill-server")
		}
	})
	for i := range 50 {
		p.write(t, fmt.Sprintf("file%d", i), strings.Repeat("a line\n", 50))
	}
	p.run(t, "git", "add", "-A")
	p.run(t, "git", "commit", "-q", "-m", "files")
	for _, n := range m.live(100, 200) {
		p.manifest(t, n, fmt.Sprintf(`
session "s" {
  count  = %d
  agent  = agent.idle
  branch = "agents/s${count.index}"
}
`, n))
		p.run(t, "agentform", "apply", "--auto-approve")
		// What was just written may still change without another stamp, and is counted again.
		time.Sleep(3 * time.Second)
		p.run(t, "agentform", "status")
		p.run(t, "agentform", "status")
		took := m.turns(15,
			func() time.Duration { return p.time(t, "agentform", "status") },
			func() time.Duration { return p.time(t, "agentform", "wait", "--for=ready", "s") })
		m.add(Row{
			Work:  fmt.Sprintf("status with the changes of %d worktrees, none new", n),
			Took:  Time(took[0]),
			Floor: Beside{"the same look without them: wait --for=ready", Time(took[1])},
			Goals: []Goal{{Says: "≤ 1.5 × floor", Got: ratio(took[0], took[1]), Bound: 1.5}},
			Shown: n == 200,
		})
	}
	// The diff of one of them: what it costs is not the others' number.
	path, err := p.command("agentform", "path", "s[0]").Output()
	if err != nil {
		t.Fatal(err)
	}
	in := p
	in.dir = strings.TrimSpace(string(path))
	in.write(t, "file0", strings.Repeat("another line\n", 40))
	took := m.turns(31,
		func() time.Duration { return p.time(t, "agentform", "diff", "s[0]") },
		func() time.Duration { return in.time(t, "git", "diff", "--merge-base", "main") })
	m.add(Row{
		Work:  "diff of one worktree of many",
		Took:  Time(took[0]),
		Floor: Beside{"git diff --merge-base", Time(took[1])},
		Goals: []Goal{{Says: "≤ floor and 15 ms", Got: ratio(took[0]-took[1], 15*time.Millisecond), Bound: 1}},
		Shown: true,
	})
}
