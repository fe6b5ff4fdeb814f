//go:build agents

package agenttest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/internal/test/modelserver"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/internal/usage"
)

// A hub suspends an agent in the middle of a turn, within seconds of the line that exceeded
// its budget, and not before. The agent finishes the turn when it may spend as much again.
// opencode writes such a line only when the tool of the answer has run.
func TestBudgetOfRealAgents(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "copilot", "gemini"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agenttest.New(t, name)
			p := lab.Project("  budget \"few\" {\n    tokens = 3000\n    per    = \"total\"\n  }")
			p.Edit("  trust ", "  permissions = \"all\"\n  env = { IS_SANDBOX = \"1\" }\n  trust ") // Claude Code does not take it from root else
			p.Do("serve", "--detach")
			defer p.Run("serve", "--stop")
			p.Do("apply", "--auto-approve", "--wait")
			p.Do("send", "api", "one "+uses(modelserver.Usage{Input: 2900, Output: 99})+" [[text One.]]")
			p.Do("wait", "api", "--timeout", "4m")
			started := p.Until("the turn has ended", func(s agenttest.Status) bool { return s.Turns == 1 })
			if started.State != "running" {
				t.Fatalf("it is held with 2999 of 3000 tokens: %+v", started)
			}
			// The tool runs until the file is there.
			on := filepath.Join(lab.Dir, "go")
			p.Do("send", "api", fmt.Sprintf("two %s [[text I look.]] [[tool bash: while ! test -e %s; do sleep 0.2; done]] [[text Two.]]",
				uses(modelserver.Usage{Input: 13, Output: 1}), on))
			var held time.Time
			wait.For(t, "it is suspended", func() (any, bool) {
				text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", started.PID))
				if err != nil {
					t.Fatal(err)
				}
				held = time.Now()
				rest := text[strings.LastIndexByte(string(text), ')')+1:]
				return func() string { return fmt.Sprintf("%+v", p.Status()) }, strings.HasPrefix(string(rest), " T ")
			})
			late := held.Sub(lastAnswer(t, lab.Dir))
			t.Logf("%s was suspended %s after the line that exceeded the budget", name, late)
			if s := p.Until("it is shown", func(s agenttest.Status) bool { return s.State == "paused" }); !strings.Contains(s.Detail, "paused by the budget few: 3,013 of 3,000 tokens") {
				t.Errorf("%+v", s)
			}
			if err := os.WriteFile(on, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			p.Do("start", "--ignore-budget", "api")
			p.Until("it finishes the turn", func(s agenttest.Status) bool { return s.Turns == 2 && s.PID == started.PID })
			p.Do("serve", "--stop")
			p.Do("destroy", "--auto-approve")
			lab.UntilNone()
		})
	}
}

// lastAnswer returns when the agent wrote the last answer that was counted, by its own line.
func lastAnswer(t *testing.T, project string) time.Time {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(project, ".agentform", usage.Folder, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("usage is in %q: %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for line := range bytes.Lines(text) {
		var l usage.Line
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		for _, a := range l.Answers {
			last = a.At
		}
	}
	return last
}
