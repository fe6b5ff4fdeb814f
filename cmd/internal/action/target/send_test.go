package target

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// TestKeysAreApart checks that there is time between several keys.
func TestKeysAreApart(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		rt := sessiontest.New("")
		mark := session.Mark{Address: "session.api", ID: "api-1", Run: "r1"}
		if _, err := rt.Create(t.Context(), session.Launch{Name: "api", Mark: mark, Argv: []string{"robot"}}); err != nil {
			t.Fatal(err)
		}
		lives, err := rt.Observe(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		alive := true
		rec := session.Record{Address: "session.api", ID: "api-1", Run: session.Run{ID: "r1"}, Location: lives[0].Location,
			Spec: session.Spec{Address: "session.api", Agent: session.AgentSpec{Name: "robot", Command: []string{"robot"}}}}
		x := Target{
			Seen:    engine.Seen{Record: rec, Live: &lives[0], Diagnosis: plan.Diagnosis{Alive: &alive}},
			Project: &project.Project{Manifest: &config.Manifest{DataDir: dir}, Options: project.Options{Log: slog.New(slog.DiscardHandler)}}, Runtime: rt,
		}
		send := func(keys ...string) time.Duration {
			var inputs []session.Input
			for _, key := range keys {
				inputs = append(inputs, session.Input{Key: key})
			}
			began := time.Now()
			if sent := x.Send(t.Context(), activity.New(dir, dir, agent.For), inputs, false); sent.Err != nil {
				t.Fatal(sent.Err)
			}
			return time.Since(began)
		}
		one := send("Escape")
		if three := send("Escape", "Escape", "Enter"); three < 3*one+2*keyPause {
			t.Errorf("three keys took %v, and one %v", three, one)
		}
	})
}
