//go:build agents

package agenttest_test

import (
	"os"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// situations are those of every agent, each beside its adapter's other tests.
var situations = map[string][]agenttest.Situation{
	"claude":  claudeSituations,
	"codex":   codexSituations,
	"copilot": copilotSituations,
	"gemini":  geminiSituations,
	"qwen":    qwenSituations,
}

// TestSituations brings the real agents into every situation and says which one is
// no longer read for what it is. With a folder for captures it records them.
func TestSituations(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(agenttest.Captures)
	for agent, all := range situations {
		for _, s := range all {
			t.Run(agent+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				run, look := s.Reach(t, agent)
				if folder == "" {
					return
				}
				if err := run.Capture(folder, s.Name, look); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
