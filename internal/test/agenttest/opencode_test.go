//go:build agents

package agenttest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/agenttest"
)

// opencode runs by the block of docs/agents/custom.md, from the manifest and back:
// it works, asks, is answered, has done its turn, is limited, and after each end
// nothing of it lives.
func TestOpencodeByItsBlock(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/agents/custom.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```hcl\n(agent \"opencode\" .*?\n)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/agents/custom.md has no block for opencode")
	}
	lab := agenttest.New(t, "opencode")
	if !strings.Contains(string(page), "opencode "+lab.Version+",") {
		t.Errorf("docs/agents/custom.md is about another version than %s", lab.Version)
	}
	const command = `["opencode"]`
	lab.Block = strings.Replace(string(block[1]), command, `["`+lab.Spec.Command[0]+`"]`, 1)
	if lab.Block == string(block[1]) {
		t.Fatalf("the block has no %s", command)
	}
	p := lab.Project(`  prompt = "fix it [[text I look.]] [[tool bash: touch made]] [[text Done here.]]"`)
	made := func() bool {
		found, err := filepath.Glob(filepath.Join(lab.Dir, ".agentform", "workspaces", "*", "*", "made"))
		return err == nil && len(found) > 0
	}
	shows := func(text string) func(agenttest.Status) bool {
		return func(s agenttest.Status) bool {
			return s.Activity == "idle" && strings.Contains(p.Do("capture", "api"), text)
		}
	}

	// It may draw its question a little before it takes a key.
	press := func(key, what string, seen func(agenttest.Status) bool) {
		t.Helper()
		var next time.Time
		p.Until(what, func(s agenttest.Status) bool {
			if seen(s) {
				return true
			}
			if time.Now().After(next) && strings.Contains(p.Do("capture", "api"), "Allow once") {
				p.Do("send", "api", "--key", key)
				next = time.Now().Add(5 * time.Second)
			}
			return false
		})
	}

	p.Do("apply", "--auto-approve", "--wait")
	p.Until("it asks", func(s agenttest.Status) bool {
		return s.Activity == "blocked" && strings.Contains(p.Do("capture", "api"), "Allow once")
	})
	if out, code := p.Run("answer", "api", "no"); code == 0 {
		t.Errorf("its question is answered without its answers being known:\n%s", out)
	}
	if made() {
		t.Fatal("the command ran before it was allowed")
	}
	press("Enter", "the turn ends", shows("Done here."))
	if !made() {
		t.Error("the command that was allowed did not run")
	}
	if out, code := p.Run("plan", "--detailed-exitcode"); code != 0 {
		t.Errorf("a plan after it has worked: exit %d\n%s", code, out)
	}

	p.Do("send", "api", "no [[tool bash: rm made]] [[text Never.]]")
	p.Until("it asks for the second command", activity("blocked"))
	press("Escape", "it is refused", activity("idle"))
	if !made() {
		t.Error("the command that was refused ran")
	}

	p.Do("send", "api", "wait [[stall]]")
	working := p.Until("it works", activity("working"))
	p.Do("stop", "api")
	lab.UntilNone()

	p.Do("start", "api")
	p.Until("it asks or is idle again", func(s agenttest.Status) bool {
		return s.PID != working.PID && (s.Activity == "idle" || s.Activity == "blocked")
	})
	p.Do("restart", "api", "--fresh")
	p.Until("it asks again", activity("blocked"))
	press("Enter", "the turn ends again", shows("Done here."))
	p.Do("send", "api", "more [[status 429]]")
	p.Until("it is limited", activity("blocked_api"))
	p.Do("destroy", "--auto-approve")
	lab.UntilNone()
}
