//go:build real

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// recording is what a change of one session costs when so many are on record: alone,
// and with all of them changing at the same time. Bytes are all that this process
// writes, the session's own copy of its record with them.
func recording(t *testing.T, m *measurement) {
	written := Plot{Name: "state-bytes", Title: "Bytes written for each change of the state, N on record", Unit: Bytes}
	alone, together := Curve{Name: "one change alone"}, Curve{Name: "all change at once"}
	spent := Plot{Name: "state-time", Title: "Time of N changes of the state at once", Unit: Seconds}
	all := Curve{Name: "all change at once", Ours: true}
	var first float64
	for _, n := range m.each(100, 1000, 10000) {
		path := filepath.Join(t.TempDir(), "state.json")
		s, err := state.Open(t.Context(), path, "shop", "1", state.Holder{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, n, 1)
		const lonely = 200 // so many that the whole file comes in where it is a small one
		before := wrote(t)
		for i := range lonely {
			put(t, s, 1, 2+i)
		}
		lone := float64(wrote(t)-before) / lonely
		one := m.turns(5, func() time.Duration { return put(t, s, 1, int(time.Now().UnixNano())) })[0]
		before = wrote(t)
		many := put(t, s, n, 2)
		shared := float64(wrote(t)-before) / float64(n)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = lone
		}
		m.add(Row{Work: fmt.Sprintf("a change of the state alone, %d on record", n), Took: Time(one)})
		m.add(Row{Work: fmt.Sprintf("bytes that a change alone writes, %d on record", n), Took: Memory(lone),
			Goals: []Goal{{Says: "≤ 2 × those of 100 on record", Got: lone / first, Bound: 2}}})
		m.add(Row{Work: fmt.Sprintf("%d changes of the state at once", n), Took: Time(many)})
		m.add(Row{Work: "bytes that each writes", Took: Memory(shared)})
		alone.Add(n, lone)
		together.Add(n, shared)
		all.Add(n, many.Seconds())
	}
	written.Curves, spent.Curves = []Curve{alone, together}, []Curve{all}
	m.plots = append(m.plots, written, spent)
}

// put changes the first n sessions at the same time, and is how long that takes until
// all of it is durable.
func put(t *testing.T, s *state.Store, n, run int) time.Duration {
	t.Helper()
	began := time.Now()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := s.Put(record(i, run)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// record is one of a session in a worktree.
func record(i, run int) session.Record {
	a := session.Single(fmt.Sprint("s", i))
	place := "/home/ann/shop/.agentform/workspaces/shop/" + string(a)
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return session.Record{
		ID: "id-" + string(a), Address: a, Origin: session.FromManifest, CreatedAt: when, UpdatedAt: when,
		Spec: session.Spec{
			Address: a, Role: "builder", Desired: session.Running, Branch: "agents/" + string(a),
			Agent:     session.AgentSpec{Name: "claude", Command: []string{"claude"}, PromptVia: "argument"},
			Workspace: session.Workspace{Mode: session.Worktree, Repo: "/home/ann/shop", Path: place, OnDestroy: session.Keep},
			Runtime:   session.RuntimeSpec{Kind: "tmux"},
		},
		Tree: session.WorkspaceState{Path: place, Mode: session.Worktree, Branch: "agents/" + string(a)},
		Run:  session.Run{Number: run},
	}
}

// wrote is how many bytes this process has written to files so far (wchar of
// proc_pid_io(5)).
func wrote(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(l, "wchar: "); ok {
			bytes, err := strconv.ParseInt(strings.TrimSpace(n), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return bytes
		}
	}
	t.Fatal("/proc/self/io has no wchar")
	return 0
}
