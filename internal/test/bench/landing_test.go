//go:build real

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// landing is what it costs to know what can be landed: which of 50 branches conflict with their
// base and with each other, when all is to be found again and when nothing has changed; and to
// tell what became of them.
func landing(t *testing.T, m *measurement) {
	const branches = 50
	p := newRepository(t, m.bin)
	t.Cleanup(func() {
		for _, socket := range p.sockets(t) {
			p.run(t, "tmux", "-S", socket, "kill-server")
		}
	})
	for i := range 100 {
		p.write(t, fmt.Sprintf("file%d", i), strings.Repeat("a line\n", 50))
	}
	p.run(t, "git", "add", "-A")
	p.run(t, "git", "commit", "-q", "-m", "files")
	p.manifest(t, branches, fmt.Sprintf(`
session "s" {
  count  = %d
  agent  = agent.idle
  branch = "agents/s${count.index}"
}
`, branches))
	p.run(t, "agentform", "apply", "--auto-approve")
	for i := range branches {
		path, err := p.command("agentform", "path", fmt.Sprintf("s[%d]", i)).Output()
		if err != nil {
			t.Fatal(err)
		}
		in := p
		in.dir = strings.TrimSpace(string(path))
		// Each has a file of its own, one that another has, too, and one that is not committed.
		in.write(t, fmt.Sprintf("file%d", i), strings.Repeat("its line\n", 50))
		in.write(t, fmt.Sprintf("file%d", 50+i/2), fmt.Sprintf("the line of %d\n", i))
		in.run(t, "git", "commit", "-q", "-a", "-m", "work")
		in.write(t, fmt.Sprintf("new%d", i), "a line\n")
	}
	time.Sleep(3 * time.Second) // what was just written may still change without another stamp
	p.run(t, "agentform", "status")
	p.run(t, "agentform", "status")
	// Before the base moves: for seconds afterwards all is looked at again.
	same := m.turns(15,
		func() time.Duration { return p.time(t, "agentform", "status") },
		func() time.Duration { return p.time(t, "agentform", "wait", "--for=ready", "s") })
	n := 0
	took := m.turns(15,
		func() time.Duration {
			n++
			p.write(t, "file99", fmt.Sprintln(n))
			p.run(t, "git", "commit", "-q", "-a", "-m", "base")
			return p.time(t, "agentform", "status")
		},
		func() time.Duration { return p.time(t, "agentform", "wait", "--for=ready", "s") },
		func() time.Duration { return p.time(t, "agentform", "report") })
	floor := Beside{"the same look without them: wait --for=ready", Time(took[1])}
	m.add(Row{
		Work:  fmt.Sprintf("status with the conflicts of %d branches, whose base has moved", branches),
		Took:  Time(took[0]),
		Floor: floor,
		Goals: []Goal{{Says: "≤ 2 s", Got: ratio(took[0], 2*time.Second), Bound: 1}},
		Shown: true,
	})
	m.add(Row{
		Work:  fmt.Sprintf("status with the conflicts of %d branches, none new", branches),
		Took:  Time(same[0]),
		Floor: Beside{floor.What, Time(same[1])},
		Goals: []Goal{
			{Says: "≤ 0.2 s", Got: ratio(same[0], 200*time.Millisecond), Bound: 1},
			{Says: "≤ 1.3 × floor", Got: ratio(same[0], same[1]), Bound: 1.3},
		},
		Shown: true,
	})
	m.add(Row{
		Work:  fmt.Sprintf("report of %d sessions", branches),
		Took:  Time(took[2]),
		Floor: floor,
		Goals: []Goal{{Says: "≤ 1 s", Got: ratio(took[2], time.Second), Bound: 1}},
	})
}
