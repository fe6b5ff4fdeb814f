package fleet_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/apply"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/test/turntest"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/state"
)

// TestLooks checks that looks judge a turn together: an agent that was seen at work needs to rest
// for a moment only, which one look cannot know; and that sessions that are only wanted are there.
func TestLooks(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "robot"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		rt := sessiontest.New("")
		checkout := func(path string) session.Checkout { return session.Checkout{Path: path, Exists: true} }
		e := &engine.Engine{
			Project: "shop", StatePath: filepath.Join(dir, "state.json"), Version: "test", Who: state.Holder{User: "ada"},
			Runtime: func(string, session.RuntimeSpec) (session.Runtime, error) { return rt, nil },
			Observer: engine.Observer{
				Look: checkout, LookClone: checkout, Facts: rt.Facts, BootID: rt.BootID, Now: time.Now,
				Worktrees: func(context.Context, string) ([]session.Held, error) { return nil, nil },
			},
			Applier: apply.Applier{
				Agent: agent.For, Git: apply.Git{Look: checkout, LookClone: checkout}, Blobs: state.Blobs{Dir: filepath.Join(dir, "blobs")},
				Facts: rt.Facts, BaseEnv: []string{"PATH=" + dir}, Now: time.Now, DataDir: dir, Project: "shop", Parallelism: 1,
			},
		}
		spec := func(name string) session.Spec {
			s := session.Spec{
				Address: session.Single(name), Desired: session.Running, Agent: session.AgentSpec{Name: "robot", Command: []string{"robot"}},
				Workspace: session.Workspace{Mode: session.Plain, Path: filepath.Join(dir, name)}, Runtime: session.RuntimeSpec{Kind: "scripted"},
				Prompt: session.PromptOf(turntest.Prompt),
			}
			turntest.Agent(&s.Agent, turntest.History{})
			return s
		}
		rt.Script(session.Single("api").OutsideName("shop"), sessiontest.Step{Screen: "busy"}, sessiontest.Step{After: 20 * time.Second, Screen: "Fixed.\n>"})
		q := engine.Request{Wanted: []session.Spec{spec("api")}}
		made, err := e.Plan(t.Context(), q)
		if err == nil {
			_, err = e.Apply(t.Context(), q, made, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		observe := func() *fleet.Observer {
			return fleet.New(fleet.Config{
				Engine: e, Activity: activity.New(dir, dir, agent.For), DataDir: dir, Wanted: []session.Spec{spec("api"), spec("web")},
				Supervisor: func() (state.Holder, bool) { return state.Holder{}, false }, Log: slog.New(slog.DiscardHandler),
			})
		}
		look := func(o *fleet.Observer) *fleet.Snapshot {
			t.Helper()
			s, err := o.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		o := observe()
		time.Sleep(10 * time.Second)
		look(o)
		time.Sleep(11 * time.Second)
		look(o)
		time.Sleep(time.Second)
		s := look(o)
		if k := s.Of("session.api"); k.Doing().Ended.IsZero() || status.Of(k).Needs == nil {
			t.Errorf("an agent that rests after work: %+v", k.Doing())
		}
		if k := look(observe()).Of("session.api"); !k.Doing().Ended.IsZero() {
			t.Errorf("seen once, as it may rest before its work: %+v", k.Doing())
		}
		if k := s.Of("session.web"); k.Record != nil || k.Wanted == nil || status.Of(k).State != session.StatePending {
			t.Errorf("only wanted: %+v", k)
		}
		if k := s.Of("session.none"); k.Record != nil || k.Wanted != nil {
			t.Errorf("a session that is not there: %+v", k)
		}
	})
}
