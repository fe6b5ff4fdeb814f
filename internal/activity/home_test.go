package activity_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/session"
)

// The files of an agent in a container are searched for in the agent's home, and never in the
// user's own.
func TestHomeOfAContainer(t *testing.T) {
	for name, c := range map[string]struct {
		kind, env string
		want      string
		copied    bool
	}{
		"here":                            {"tmux", ``, "/home/ann", false},
		"here, given one":                 {"tmux", `"HOME=/srv/x"`, "/srv/x", false},
		"in a container, given one":       {"docker", `"HOME=/srv/x"`, "/srv/x", false},
		"in a container, the image's own": {"docker", `"A=b"`, "/~", true},
		"in a pod":                        {"kubernetes", `"A=b"`, "/~", true},
		"in a pod, given one":             {"kubernetes", `"HOME=/srv/x"`, "/~", true},
	} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			run := filepath.Join(data, "runs", "run1")
			if err := os.MkdirAll(run, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(run, "launch.json"), []byte(`{"run":"run1","env":[`+c.env+`]}`), 0o600); err != nil {
				t.Fatal(err)
			}
			rec := record(agentOf(agent.AtStart))
			rec.Spec.Runtime = session.RuntimeSpec{Kind: c.kind}
			r := activity.New(data, "/home/ann", agent.For)
			if of := r.Lookup(rec); of.Home != c.want || (of.Root != "") != c.copied {
				t.Errorf("its home is %s, below %s", of.Home, of.Root)
			}
		})
	}
}

// If an agent's hooks report another conversation than the record, the agent is in that one:
// someone started it at the terminal.
func TestConversationByHooks(t *testing.T) {
	signals := `{"at":"2026-11-25T21:00:00Z","data":{"session_id":"first","hook_event_name":"SessionStart"}}
{"at":"2026-11-25T21:01:00Z","data":{"session_id":"second","hook_event_name":"SessionStart"}}
{"at":"2026-11-25T21:01:01Z","data":{"hook_event_name":"Other"}}
`
	for name, want := range map[string]string{"qwen": "second", "codex": "recorded"} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			run := filepath.Join(data, "runs", "run1")
			if err := os.MkdirAll(run, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(run, "signals.jsonl"), []byte(signals), 0o600); err != nil {
				t.Fatal(err)
			}
			rec := record(session.AgentSpec{Name: name, Base: name})
			rec.Run.Conversation = "recorded"
			if got := activity.New(data, "/home/ann", agent.For).Lookup(rec).Conversation; got != want {
				t.Errorf("it is in conversation %q, want %q", got, want)
			}
		})
	}
}
