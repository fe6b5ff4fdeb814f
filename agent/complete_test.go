package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/session"
)

func TestComplete(t *testing.T) {
	claude := Builtins()["claude"]
	changed := claude
	changed.Name, changed.Trust, changed.Env = "reviewer", true, map[string]string{"A": "b"}
	changed.Patterns.Done = []string{"that is it"}
	custom := session.AgentSpec{
		Name: "shell", Command: []string{"sh"}, PromptVia: ViaPaste, Observable: AtStart,
		ReadyTimeout: session.Duration(time.Minute), UnobservedFor: session.Duration(24 * time.Hour),
	}
	short := custom
	short.Observable, short.UnobservedFor = "", 0
	for name, c := range map[string]struct{ given, want session.AgentSpec }{
		"a built-in by its name": {session.AgentSpec{Name: "claude"}, claude},
		"a built-in, changed": {session.AgentSpec{Name: "reviewer", Base: "claude", Trust: true, Env: map[string]string{"A": "b"},
			Patterns: session.Patterns{Done: []string{"that is it"}}}, changed},
		"a custom one":           {short, custom},
		"what is complete stays": {claude, claude},
	} {
		if d := cmp.Diff(c.want, Complete(c.given)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	own := Complete(session.AgentSpec{Name: "claude", Command: []string{"my-claude"}})
	if own.Base != "" || own.Ready != "" || own.PromptVia != ViaArgument {
		t.Errorf("a command of one's own that is called claude is not Claude Code: %+v", own)
	}
}
