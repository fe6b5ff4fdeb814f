package engine_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// laconic says when something was last put out only along with screens, as a cluster does.
type laconic struct{ *sessiontest.Scripted }

func (l laconic) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	lives, err := l.Scripted.Observe(ctx, screens)
	for i := range lives {
		if !screens {
			lives[i].MovedAt = time.Time{}
		}
	}
	return lives, err
}

// rested is an agent without files that shows a prompt.
type rested struct{ robot }

func (rested) Detect(e session.Evidence) session.Detection {
	if e.Screen == "" {
		return session.Detection{}
	}
	return session.Detection{Activity: session.Idle, Source: "screen"}
}

func TestTurnEndsWhereTimesComeWithScreens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.Runtime = func(string, session.RuntimeSpec) (session.Runtime, error) { return laconic{r.rt}, nil }
		adapt := func(session.AgentSpec) session.Agent { return rested{} }
		r.Applier.Agent, r.Activity = adapt, activity.New(r.dir, r.dir, adapt)
		s := r.spec("api")
		s.Finish = session.FinishTurn
		r.rt.Script(place("api"), sessiontest.Step{Screen: ">"})
		r.must(s)
		time.Sleep(10 * time.Second)
		if got := r.planned(s); !slices.Equal(got, []string{"stop api"}) {
			t.Errorf("plan: %q", got)
		}
	})
}
