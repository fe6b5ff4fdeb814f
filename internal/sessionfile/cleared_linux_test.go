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

// A user who runs /clear is in another conversation. Codex has the rollouts of both open, and those
// of its sub-agents: the last written one with its own conversation counts.
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
		for _, of.Conversation = range []string{"one", ""} { // resumed, or new
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
	write("one", "user", noon.Add(3*time.Minute)) // the user returns to it
	reads("one")
}

// Copilot CLI has no session file open, but a lock next to it. The file of a conversation is
// created with its first prompt.
func TestAnotherConversationByItsLock(t *testing.T) {
	home := t.TempDir()
	start, ok := proc.StartTime(os.Getpid())
	if !ok {
		t.Fatal("this process is not to be seen")
	}
	file := func(name, text string) *os.File {
		t.Helper()
		path := filepath.Join(home, ".copilot", "session-state", name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		var f *os.File
		if err == nil {
			f, err = os.Create(path)
		}
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	begins := func(id string) string {
		return fmt.Sprintf(`{"type":"session.start","timestamp":"2026-11-24T12:00:00Z","data":{"sessionId":%q,"startTime":"2026-11-24T12:00:00Z","context":{"cwd":"/work/api"}}}`+"\n", id)
	}
	var r sessionfile.Reader
	reads := func(want string) {
		t.Helper()
		n, err := r.Read(agent.For(agent.Builtins()[agent.Copilot]), "run", session.Lookup{Dir: "/work/api", Home: home, Conversation: "one",
			StartedAt: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC), Process: session.Process{PID: os.Getpid(), Start: start}})
		if err != nil || n == nil || n.Conversation != want {
			t.Errorf("it reads %+v, %v, want %q", n, err, want)
		}
	}
	file("one/events.jsonl", begins("one")).Close()
	held := file("one/inuse.1.hold", "")
	reads("one")
	held.Close()
	defer file("two/inuse.1.hold", "").Close()
	reads("one")
	file("two/events.jsonl", begins("two")).Close()
	reads("two")
}
