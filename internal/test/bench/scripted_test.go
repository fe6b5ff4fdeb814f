//go:build real

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// planScripted is a plan with nothing to do of more sessions than a machine can run:
// reading the manifest and the state, looking at a runtime that lives in memory, and
// deciding. It is all of `agentform plan` but the start, tmux and the printing.
func planScripted(t *testing.T, m *measurement) {
	plot := Plot{Name: "scripted", Title: "No-op plan of N live sessions of a scripted runtime", Unit: Seconds}
	ours := Curve{Name: "manifest, state, look and decision", Ours: true}
	for _, n := range m.each(1000, 2000, 5000) {
		dir := t.TempDir()
		p := project{dir: dir}
		p.manifest(t, n, repeated(n, "session \"s%d\" {\n  agent = agent.idle\n  workspace {\n    mode = \"plain\"\n  }\n}\n"))
		r := scripted(t, dir)
		t.Cleanup(r.Close)
		look := func() plan.Plan {
			found, problems := config.Load(config.Options{Dir: dir, Environ: []string{"HOME=" + dir}})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			q := engine.Request{Wanted: found.Sessions, Options: plan.Options{MaxRunning: n}}
			planned, err := r.Plan(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if planned.Acts() {
				if _, err := r.Apply(t.Context(), q, planned, nil); err != nil {
					t.Fatal(err)
				}
			}
			return planned
		}
		look()
		took := m.turns(5, func() time.Duration {
			began := time.Now()
			if planned := look(); planned.Acts() {
				t.Fatalf("%d sessions are not in sync", n)
			}
			return time.Since(began)
		})[0]
		ours.Add(n, took.Seconds())
		row := Row{Work: fmt.Sprintf("no-op plan, %d live sessions of a scripted runtime, in process", n), Took: Time(took)}
		if first := ours.Points[0]; n == 5*first.N {
			row.Goals = []Goal{{Says: fmt.Sprintf("≤ 6 × that of %d", first.N), Got: took.Seconds() / first.Cost, Bound: 6}}
		}
		m.add(row)
	}
	plot.Curves = []Curve{ours}
	m.plots = append(m.plots, plot)
}

// scripted reconciles the sessions of a scripted runtime.
func scripted(t *testing.T, dir string) *engine.Engine {
	rt := sessiontest.New("")
	look := func(path string) session.Checkout {
		entries, err := os.ReadDir(path)
		return session.Checkout{Path: path, Exists: err == nil, Empty: len(entries) == 0}
	}
	return &engine.Engine{
		Project: "shop", StatePath: filepath.Join(dir, "state.json"), Version: "1",
		Who:     state.Holder{PID: os.Getpid(), User: "ann"},
		Runtime: func(string, session.RuntimeSpec) (session.Runtime, error) { return rt, nil },
		Observer: engine.Observer{
			Look: look, LookClone: look,
			Worktrees: func(context.Context, string) ([]session.Held, error) { return nil, nil },
			Facts:     rt.Facts, BootID: rt.BootID, Now: time.Now,
		},
		Applier: apply.Applier{
			Agent:   func(session.AgentSpec) session.Agent { return sessiontest.Agent{} },
			Git:     apply.Git{Look: look, LookClone: look},
			Blobs:   state.Blobs{Dir: filepath.Join(dir, "blobs")},
			Secrets: func(string) (string, bool) { return "", false },
			Facts:   rt.Facts, BaseEnv: []string{"PATH=" + os.Getenv("PATH")},
			DataDir: dir, Project: "shop", Parallelism: 500, By: "ann",
			Emit: func(history.Event) {},
		},
	}
}
