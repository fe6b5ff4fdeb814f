package usage

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/session"
)

// TestRules checks the usage in the files of the real agents, which have the model's own counts,
// rule by rule. make captures records them.
func TestRules(t *testing.T) {
	rules, err := filepath.Glob("testdata/*/*/counted.json")
	if err != nil || len(rules) < 10 {
		t.Fatalf("%d rules are recorded: %v", len(rules), err)
	}
	agents := map[string]bool{}
	for _, path := range rules {
		agents[filepath.Base(filepath.Dir(filepath.Dir(path)))] = true
	}
	for _, name := range agent.Names() {
		if !agents[name] {
			t.Errorf("no rules of %s are recorded", name)
		}
	}
	for _, path := range rules {
		dir := filepath.Dir(path)
		name := filepath.Base(filepath.Dir(dir))
		t.Run(name+"/"+filepath.Base(dir), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Conversations map[string]string
				Counted       session.Tokens
			}
			if err := json.Unmarshal(text, &want); err != nil || want.Counted.Total() == 0 {
				t.Fatalf("%+v: %v", want, err)
			}
			s := New(t.TempDir(), dollarEach)
			a := agent.For(agent.Builtins()[name])
			for _, file := range slices.Sorted(maps.Keys(want.Conversations)) {
				now := noon
				if parts := strings.Split(file, "/"); name == agent.Codex { // .codex/sessions/YEAR/MONTH/DAY/…
					if now, err = time.Parse("2006/01/02", strings.Join(parts[2:5], "/")); err != nil {
						t.Fatal(err)
					}
				}
				path := filepath.Join(dir, strings.Replace(file, ".", "dot-", 1))
				if err := s.Update(a, Subject{ID: "api"}, path, want.Conversations[file], now); err != nil {
					t.Fatal(err)
				}
			}
			x, err := s.Get("api")
			if err != nil {
				t.Fatal(err)
			}
			if got := x.Total().Tokens; got != want.Counted {
				t.Errorf("the files say %+v, and the model counted %+v", got, want.Counted)
			}
			for k := range x.Slices {
				if k.Model == "" {
					t.Error("an answer has no model")
				}
			}
		})
	}
}
