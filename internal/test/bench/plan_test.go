//go:build real

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// sampled is how many sessions a work is done for that is too slow to be done for
// all of them; the time is scaled.
const sampled = 20

// planInSync is `agentform plan` with nothing to do, as a person runs it: a process,
// live tmux sessions, each in a git worktree of its own.
func planInSync(t *testing.T, m *measurement) {
	p := newRepository(t, m.bin)
	// To destroy a thousand worktrees takes minutes; they go with their directory.
	t.Cleanup(func() {
		for _, socket := range p.sockets(t) {
			p.run(t, "tmux", "-S", socket, "kill-server")
		}
	})
	plot := Plot{Name: "plan", Title: "No-op plan of N live tmux sessions with worktrees", Unit: Seconds}
	ours, floor, today := Curve{Name: "agentform plan", Ours: true}, Curve{Name: "list-panes and HEADs"}, Curve{Name: "has-session and capture-pane each"}
	for _, n := range m.live(100, 300, 1000) {
		p.manifest(t, n, fmt.Sprintf(`
session "s" {
  count  = %d
  agent  = agent.idle
  branch = "agents/s${count.index}"
  workspace {
    on_destroy = "remove_clean"
  }
}
`, n))
		p.run(t, "agentform", "apply", "--auto-approve")
		sockets := p.sockets(t)
		took := m.turns(7,
			func() time.Duration { return p.time(t, "agentform", "plan", "--detailed-exitcode") },
			func() time.Duration { return p.listPanes(t, sockets) },
			func() time.Duration { return p.readHeads(t, n) },
			func() time.Duration { return p.time(t, "agentform", "version") })
		plan, least, start := took[0], took[1]+took[2], took[3]
		pairs := p.pairs(t, n)

		r := Row{
			Work:  fmt.Sprintf("no-op plan, %d live tmux sessions with worktrees", n),
			Took:  Time(plan),
			Floor: Beside{"list-panes and the HEADs", Time(least)},
			Today: Beside{"has-session and capture-pane for each", Time(pairs)},
			Goals: []Goal{{Says: "≤ 1 of 3 × floor and the start-up", Got: ratio(plan, 3*least+start), Bound: 1}},
			Shown: n != 300,
		}
		if n >= 1000 {
			r.Goals = append(r.Goals, Goal{Says: "≥ 300 × faster than today's", Got: ratio(pairs, plan), Bound: 300, AtLeast: true})
		}
		if m.full && len(r.Short()) > 0 {
			r.Missed = p.profile(t, 50, "plan")
		}
		m.add(r)
		ours.Add(n, plan.Seconds())
		floor.Add(n, least.Seconds())
		today.Add(n, pairs.Seconds())
	}
	plot.Curves = []Curve{ours, floor, today}
	m.plots = append(m.plots, plot)
}

// listPanes asks all of the servers at the same time, once each.
func (p project) listPanes(t *testing.T, sockets []string) time.Duration {
	t.Helper()
	began := time.Now()
	var all sync.WaitGroup
	for _, socket := range sockets {
		all.Go(func() {
			c := p.command("tmux", "-S", socket, "list-panes", "-a", "-F", "#{pane_id} #{pane_dead} #{pane_pid} #{@agentform}")
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("tmux: %v\n%s", err, out)
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// pairs is how long it takes to ask tmux about so many sessions on one server as
// scripts do: two processes for each of them.
func (p project) pairs(t *testing.T, sessions int) time.Duration {
	t.Helper()
	socket := p.beside("bare")
	p.tmux(t, socket, newSessions(sessions))
	defer p.run(t, "tmux", "-S", socket, "kill-server")
	began := time.Now()
	for i := range sampled {
		name := fmt.Sprintf("=bare-%d", i*sessions/sampled)
		p.run(t, "tmux", "-S", socket, "has-session", "-t", name)
		p.run(t, "tmux", "-S", socket, "capture-pane", "-p", "-t", name+":")
	}
	return time.Since(began) * time.Duration(sessions) / sampled
}

// readHeads reads the HEAD of every worktree, by way of its .git file, and
// returns how long that took.
func (p project) readHeads(t *testing.T, want int) time.Duration {
	t.Helper()
	trees, err := filepath.Glob(filepath.Join(p.dir, ".agentform", "workspaces", "*", "*"))
	if err != nil || len(trees) != want {
		t.Fatalf("%d workspaces, want %d: %v", len(trees), want, err)
	}
	began := time.Now()
	for _, tree := range trees {
		git, err := os.ReadFile(filepath.Join(tree, ".git"))
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimSpace(strings.TrimPrefix(string(git), "gitdir: "))
		if head, err := os.ReadFile(filepath.Join(dir, "HEAD")); err != nil || !strings.HasPrefix(string(head), "ref: ") {
			t.Fatalf("HEAD %q: %v", head, err)
		}
	}
	return time.Since(began)
}

// ratio is how many times b fits into a.
func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }
