//go:build agents

package agenttest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// TestMain builds agentform and its shim, for the tests that go the whole way.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "agentform-programs-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		build := exec.Command("go", "build", "-o", dir+"/", "../../../cmd/agentform", "../../../cmd/agentform-shim")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build agentform: %v\n%s", err, out)
			return 1
		}
		if err := os.Setenv(agenttest.Programs, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func activity(a string) func(agenttest.Status) bool {
	return func(s agenttest.Status) bool { return s.Activity == a }
}

// From the manifest to the agent and back: the question is shown and answered, the
// conversation survives a restart without its prompt being sent twice, a message
// reaches it, and after the end nothing lives.
func TestClaudeByAgentform(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "claude")
	const prompt = "fix it [[text I look.]] [[tool ask: echo hi > made]] [[text Done here.]]"
	p := lab.Project(`  prompt = "` + prompt + `"`)
	p.Do("apply", "--auto-approve", "--wait")
	s := p.Until("it asks", func(s agenttest.Status) bool {
		return s.Activity == "blocked" && strings.Contains(s.Detail, "echo hi > made")
	})
	p.Until("the question is shown", func(agenttest.Status) bool {
		return strings.Contains(p.Do("capture", "api"), "Do you want to proceed?")
	})
	p.Press("Enter", "the turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
	log := p.Do("logs", "api")
	for _, line := range []string{"user    fix it", "agent   I look.", "tool    Bash echo hi > made", "agent   Done here."} {
		if !strings.Contains(log, line) {
			t.Errorf("logs lacks %q:\n%s", line, log)
		}
	}

	p.Do("restart", "api")
	again := p.Until("it is idle again", func(now agenttest.Status) bool { return now.Activity == "idle" && now.PID != s.PID })
	if again.Conversation != s.Conversation || s.Conversation == "" {
		t.Errorf("conversation %q, before the restart %q", again.Conversation, s.Conversation)
	}
	p.Do("send", "api", "more [[text More.]]")
	p.Until("the second turn ends", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 2 })
	turns := lab.Model.Turns()
	if want := []string{prompt, "more [[text More.]]"}; !slices.Equal(turns[len(turns)-1].Prompts, want) || len(turns) != 3 {
		t.Errorf("%d requests, the last with %q, want 3 with %q", len(turns), turns[len(turns)-1].Prompts, want)
	}

	p.Do("stop", "api")
	lab.UntilNone()

	// Its conversation is gone: that is said, and nothing is begun instead.
	gone, err := filepath.Glob(filepath.Join(lab.Home, ".claude", "projects", "*", "*.jsonl"))
	if err != nil || len(gone) != 1 || os.Remove(gone[0]) != nil {
		t.Fatalf("transcripts: %q, %v", gone, err)
	}
	out, code := p.Run("start", "api")
	if code == 0 || !strings.Contains(out, s.Conversation) {
		t.Errorf("start without its conversation: exit %d\n%s", code, out)
	}
	p.Do("restart", "api", "--fresh")
	p.Until("it asks again", activity("blocked"))
	p.Do("destroy", "--auto-approve")
	lab.UntilNone()
}
