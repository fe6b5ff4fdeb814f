//go:build real

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// applyAndStop is `agentform apply` and `agentform stop` of sessions that share the
// repository's own checkout, so that nothing but agents is made. An apply returns
// when every agent runs and is on record, a stop when nothing of any is left. The
// floor is one tmux client with as many new-session and kill-session. It writes no
// file, and how long those take that agentform writes differs between disks more than
// all the rest: so the same is done besides where files are in memory.
func applyAndStop(t *testing.T, m *measurement) {
	p := newRepository(t, m.bin)
	p.destroyed(t)
	memory := p
	if folder := inMemory(); m.full && folder != "" {
		memory = newRepositoryIn(t, m.bin, folder)
		memory.destroyed(t)
	}
	started := Plot{Name: "apply", Title: "Start of N tmux sessions", Unit: Seconds}
	ended := Plot{Name: "stop", Title: "End of N tmux sessions", Unit: Seconds}
	applies, creates := Curve{Name: "agentform apply", Ours: true}, Curve{Name: "new-session in one client"}
	scripts, composes := Curve{Name: "a new-session process each"}, Curve{Name: "process-compose up"}
	stops, kills, ends := Curve{Name: "agentform stop", Ours: true}, Curve{Name: "kill-session in one client"}, Curve{Name: "a kill-session process each"}
	for _, n := range m.live(100, 300, 1000) {
		manifest := fmt.Sprintf(`
session "s" {
  count  = %d
  agent  = agent.idle
  branch = "main"
  workspace {
    mode = "in_place"
  }
}
`, n)
		p.manifest(t, n, manifest)
		memory.manifest(t, n, manifest)
		bare := p.beside("bare")
		turn := []func() time.Duration{
			func() time.Duration { return p.time(t, "agentform", "apply", "--auto-approve") },
			func() time.Duration { return p.tmux(t, bare, newSessions(n)) },
			func() time.Duration { return p.time(t, "agentform", "stop", "s") },
			func() time.Duration { return p.tmux(t, bare, killSessions(n)) },
			func() time.Duration { p.run(t, "agentform", "destroy", "--auto-approve"); return 1 },
		}
		if memory.dir != p.dir {
			turn = append(turn,
				func() time.Duration { return memory.time(t, "agentform", "apply", "--auto-approve") },
				func() time.Duration { return memory.time(t, "agentform", "stop", "s") },
				func() time.Duration { memory.run(t, "agentform", "destroy", "--auto-approve"); return 1 })
		}
		took := m.turns(3, turn...)
		apply, create, stop, kill := took[0], took[1], took[2], took[3]
		made, gone := p.oneByOne(t, n)
		var compose time.Duration
		if m.full {
			compose = p.compose(t, n)
		}
		if compose == 0 {
			m.leftOut("process-compose, which is not installed (`scripts/process-compose.sh` builds it)")
		} else {
			composes.Add(n, compose.Seconds())
		}
		rows := func(p project, where string, apply, stop time.Duration) {
			applied := Row{
				Work:  fmt.Sprintf("apply, %d tmux sessions in place%s", n, where),
				Took:  Time(apply),
				Floor: Beside{"new-session, all in one client", Time(create)},
				Today: Beside{"a new-session process each", Time(made)},
				Goals: []Goal{
					{Says: "≤ 1.5 × floor", Got: ratio(apply, create), Bound: 1.5},
					{Says: "≤ 0.9 × a process each", Got: ratio(apply, made), Bound: 0.9},
				},
				Shown: where == "" && n != 300,
			}
			stopped := Row{
				Work:  fmt.Sprintf("stop, %d tmux sessions, seen to be gone%s", n, where),
				Took:  Time(stop),
				Floor: Beside{"kill-session, all in one client", Time(kill)},
				Today: Beside{"a kill-session process each", Time(gone)},
				Goals: []Goal{
					{Says: "≤ 2 × floor", Got: ratio(stop, kill), Bound: 2},
					{Says: "≤ 0.9 × a process each", Got: ratio(stop, gone), Bound: 0.9},
				},
				Shown: where == "" && n != 300,
			}
			if m.full && len(applied.Short())+len(stopped.Short()) > 0 {
				applied.Missed = "What the floor lacks is a shim for each session, a program that is started beside the agent, and ten files and folders, which a disk takes its time for. " + p.profile(t, 1, "apply", "--auto-approve")
				stopped.Missed = "What the floor lacks is the end of a shim, which sees its tree gone and writes that down, and the look that makes sure. " + p.profile(t, 1, "stop", "s")
				p.run(t, "agentform", "destroy", "--auto-approve")
			}
			m.add(applied)
			m.add(stopped)
		}
		rows(p, "", apply, stop)
		if memory.dir != p.dir {
			rows(memory, ", its files in memory", took[5], took[6])
		}
		if compose > 0 {
			m.add(Row{
				Work:  fmt.Sprintf("the same %d `sleep`, without tmux", n),
				Took:  Time(apply),
				Today: Beside{"process-compose up", Time(compose)},
			})
		}
		applies.Add(n, apply.Seconds())
		creates.Add(n, create.Seconds())
		scripts.Add(n, made.Seconds())
		stops.Add(n, stop.Seconds())
		kills.Add(n, kill.Seconds())
		ends.Add(n, gone.Seconds())
	}
	started.Curves = []Curve{applies, creates, scripts, composes}
	ended.Curves = []Curve{stops, kills, ends}
	m.plots = append(m.plots, started, ended)
}

// oneByOne is how long it takes to make so many sessions, and to end them, with a
// process for each, as scripts do. It is measured on a server that has half of them,
// which is what a server has on average meanwhile.
func (p project) oneByOne(t *testing.T, sessions int) (made, gone time.Duration) {
	t.Helper()
	socket := p.beside("half")
	p.tmux(t, socket, newSessions(sessions/2))
	for i := range sampled {
		made += p.time(t, "tmux", "-S", socket, "new-session", "-d", "-s", fmt.Sprint("one-", i), "-x", "200", "-y", "50", "--", "sleep", "100000")
	}
	for i := range sampled {
		gone += p.time(t, "tmux", "-S", socket, "kill-session", "-t", fmt.Sprintf("=one-%d:", i))
	}
	p.tmux(t, socket, killSessions(sessions/2))
	scale := time.Duration(sessions)
	return made * scale / sampled, gone * scale / sampled
}

func newSessions(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("new-session -d -s bare-%d -x 200 -y 50 -- sleep 100000", i)
	}
	return lines
}

func killSessions(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("kill-session -t =bare-%d:", i)
	}
	return lines
}

// leftOut notes once what is not measured.
func (m *measurement) leftOut(what string) {
	for _, n := range m.notes {
		if strings.Contains(n, what) {
			return
		}
	}
	m.notes = append(m.notes, what)
}
