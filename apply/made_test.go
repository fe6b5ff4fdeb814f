package apply

import (
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestMadeIn checks which workspaces count as created by agentform by their path alone, so that
// those of adopted sessions are removed.
func TestMadeIn(t *testing.T) {
	far := &session.DockerConfig{Host: "tcp://build"}
	for _, c := range []struct {
		kind   string
		docker *session.DockerConfig
		path   string
		want   bool
	}{
		{"tmux", nil, "/data/workspaces/a/b", true},
		{"tmux", nil, "/agentform/workspaces/a/b", false},
		{"docker", &session.DockerConfig{}, "/data/workspaces/a/b", true},
		{"docker", far, "/agentform/workspaces/a/b", true},
		{"kubernetes", nil, "/agentform/workspaces/a/b", true},
		{"kubernetes", nil, "/agentform/workspaces", false},
		{"kubernetes", nil, "/src", false},
	} {
		s := session.Spec{Runtime: session.RuntimeSpec{Kind: c.kind, Docker: c.docker}, Workspace: session.Workspace{Mode: session.Clone, Path: c.path}}
		if got := madeIn("/data", s, c.path); got != c.want {
			t.Errorf("%s, %+v: %s is agentform's: %v, want %v", c.kind, c.docker, c.path, got, c.want)
		}
		if r := Restored(session.Live{}, s, session.RunFacts{}, "session.a", session.FromAdopt, "/data"); r.Tree.Created != c.want {
			t.Errorf("%s, %+v: adopted at %s, created by agentform: %v, want %v", c.kind, c.docker, c.path, r.Tree.Created, c.want)
		}
	}
}

// TestRestoredIsReady checks that only an agent that lives counts as ready.
func TestRestoredIsReady(t *testing.T) {
	began := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	for liveness, want := range map[session.Liveness]time.Time{session.Alive: began, session.Dead: {}, session.Unknown: {}} {
		r := Restored(session.Live{Started: began, Liveness: liveness}, session.Spec{}, session.RunFacts{}, "session.a", session.FromAdopt, "/data")
		if !r.Run.ReadyAt.Equal(want) {
			t.Errorf("%s: ready at %v, want %v", liveness, r.Run.ReadyAt, want)
		}
	}
}
