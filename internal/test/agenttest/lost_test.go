//go:build agents

package agenttest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

// lossy types into a run, except the keys that it loses, each once.
type lossy struct {
	session.Runtime // of which only Send is used
	run             *agenttest.Run
	lose            []string
}

func (l *lossy) Send(ctx context.Context, _ session.Location, in session.Input) error {
	press := func(key string) error {
		if i := slices.Index(l.lose, key); i >= 0 {
			l.lose = slices.Delete(l.lose, i, i+1)
			return nil
		}
		l.run.Keys(key)
		return nil
	}
	return input.Type(ctx, in, press, func(text string) error { l.run.Paste(text); return nil })
}

// TestSendThatLosesKeys checks that the real agents get a text once, and nothing else, whichever
// key is lost: the Enter behind it, what is typed to see that they have read it, or the removal
// of that.
func TestSendThatLosesKeys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "copilot", "gemini", "qwen"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			run := lab.Start("")
			run.Until("it is ready", func(agenttest.Look) bool { return run.Ready() })
			l := &lossy{run: run}
			s := input.Sender{Runtime: l, Agent: agent.For(lab.Spec), BootTimeout: time.Minute,
				Observe: func(context.Context) (input.Snapshot, error) {
					x := run.Look()
					now := input.Snapshot{Screen: x.Screen, Detection: x.Detection, Transcript: x.Transcript}
					if x.Transcript != nil {
						now.Messages, now.Tells = x.Transcript.Messages, true
					}
					return now, nil
				}}
			// Before the first turn an agent may work or draw without a text, and nothing tells.
			for i, lost := range [][]string{{}, {"Enter"}, {"Enter", "Enter"}, {"Enter", "."}, {"Enter", "BSpace"}} {
				l.lose = slices.Clone(lost)
				text := fmt.Sprintf("message %d [[text Well.]]", i)
				if _, err := s.Send(t.Context(), text, false); err != nil {
					t.Fatalf("lost %q: %v", lost, err)
				}
				run.Until("the turn ends", both(turns(i+1), rested(lab)))
				turns := lab.Model.Turns()
				if got := strings.TrimSpace(turns[len(turns)-1].Prompt()); got != text || len(turns) != i+1 || len(l.lose) > 0 {
					t.Errorf("lost %q, and not %q: the model was told %q in %d turns, want %q in %d", lost, l.lose, got, len(turns), text, i+1)
				}
			}
		})
	}
}
