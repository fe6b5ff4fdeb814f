package sessionfile_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/sessionfile"
	"github.com/agentform/agentform/session"
)

// Gemini creates a second file for a conversation that it resumes in another minute, and continues
// in the first. The files are from 0.61.0.
func TestAConversationWithASecondFile(t *testing.T) {
	const id = "f0bbd94a-a170-43f7-a1af-ab4e6ea66c06"
	home := t.TempDir()
	chats := filepath.Join(home, ".gemini", "tmp", "agents-api", "chats")
	if err := os.MkdirAll(chats, 0o700); err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	put := func(recorded, name string, at time.Time) string {
		text, err := os.ReadFile(filepath.Join("testdata", "resumed", recorded))
		path := filepath.Join(chats, name)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err == nil {
			err = os.Chtimes(path, at, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := agent.For(agent.Builtins()["gemini"])
	of := session.Lookup{Dir: "/work/shop/.agentform/workspaces/api-5e897c/agents-api", Home: home, Conversation: id, StartedAt: noon}
	first := put("first.jsonl", "session-2026-11-22T07-30-f0bbd94a.jsonl", noon)
	var r sessionfile.Reader
	var told sessionfile.Place
	check := func(when string, entries int) {
		t.Helper()
		n, err := r.Read(a, "run", of)
		if err != nil || n == nil || n.Path != first || n.Turns != 1 || n.LastMessage != "Done here." {
			t.Errorf("%s: %+v, %v", when, n, err)
		}
		lines, now, _, err := r.More(a, "run", of, told)
		if got := sessionfile.Entries(a, lines); err != nil || len(got) != entries {
			t.Errorf("%s: %d entries are told, want %d: %v", when, len(got), entries, err)
		}
		told = now
		if kept, known := sessionfile.Kept(a, of); !kept || !known {
			t.Errorf("%s: kept %v, known %v", when, kept, known)
		}
		if latest := sessionfile.Latest(a, of); latest != id {
			t.Errorf("%s: the latest conversation is %q", when, latest)
		}
	}
	check("one file", 7)
	second := put("second.jsonl", "session-2026-11-22T07-31-f0bbd94a.jsonl", noon.Add(time.Minute))
	check("the second file is newer", 0)
	put("first.jsonl", filepath.Base(first), noon.Add(2*time.Minute))
	check("it goes on in the first", 0)
	// Of a conversation without messages, the newest file counts.
	put("second.jsonl", filepath.Base(first), noon)
	if n, err := r.Read(a, "run", of); err != nil || n == nil || n.Path != second || n.Begun() {
		t.Errorf("nothing was said: %+v, %v", n, err)
	}
}
