package sessionfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/session"
)

// A person who runs /clear is in another conversation. Codex has the rollouts of both open,
// and those of its sub-agents: the one that was written to last counts that has a
// conversation of its own.
func TestAnotherConversationInTheSameProcess(t *testing.T) {
	home := t.TempDir()
	day := filepath.Join(home, ".codex", "sessions", "2026", "11", "24")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	start, ok := proc.StartTime(os.Getpid())
	if !ok {
		t.Fatal("this process is not to be seen")
	}
	noon := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	write := func(id, source string, at time.Time) {
		t.Helper()
		path := filepath.Join(day, "rollout-2026-11-24T12-00-00-"+id+".jsonl")
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			t.Cleanup(func() { f.Close() })
			_, err = fmt.Fprintf(f, `{"type":"session_meta","payload":{"id":%q,"cwd":"/work/api","thread_source":%q,"timestamp":"2026-11-24T12:00:00Z"}}`+"\n", id, source)
		}
		if err == nil {
			err = os.Chtimes(path, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var r sessionfile.Reader
	of := session.Lookup{Dir: "/work/api", Home: home, Conversation: "one", StartedAt: noon, Process: session.Process{PID: os.Getpid(), Start: start}}
	reads := func(want string) {
		t.Helper()
		for _, of.Conversation = range []string{"one", ""} { // it was resumed, or begun
			n, err := r.Read(agent.For(agent.Builtins()[agent.Codex]), "run"+of.Conversation, of)
			if err != nil || n == nil || n.Conversation != want {
				t.Errorf("it reads %+v, %v, want %q", n, err, want)
			}
		}
	}
	write("one", "user", noon)
	reads("one")
	write("sub", "subagent", noon.Add(time.Minute))
	reads("one")
	write("two", "user", noon.Add(2*time.Minute))
	reads("two")
	write("one", "user", noon.Add(3*time.Minute)) // the person goes back to it
	reads("one")
}
