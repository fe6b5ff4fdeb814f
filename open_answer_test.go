//go:build real

package agentform_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/effect"
	"github.com/agentform/agentform/session"
)

// TestEffectsAnswer checks that a program of effects answers an agent in tmux.
func TestEffectsAnswer(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "answer") // short: sockets lie below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	sessions, err := agentform.Open(filepath.Join(dir, "sessions"), agentform.Options{Shim: shim})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sessions.Close() })
	spec := session.Spec{
		Agent: session.AgentSpec{Name: "asker", OneShot: true, Patterns: session.Patterns{Blocked: []string{`\(y/n\)`}},
			Command: []string{"sh", "-c", `printf 'May I write? (y/n) '; read answer; echo "it said $answer"; test "$answer" = y`}},
		Workspace: session.Workspace{Path: dir},
	}
	how := effect.Completion{Poll: 100 * time.Millisecond, Limit: time.Minute,
		Blocked: func(agentform.Observation) session.Input { return session.Input{Text: session.Yes} }}
	r, err := effect.ToCompletion("asker", spec, how)(t.Context(), effect.New(sessions))
	if err != nil || r.Status != session.StatusDone || !r.Succeeded() {
		t.Errorf("%+v, %v", r, err)
	}
}
