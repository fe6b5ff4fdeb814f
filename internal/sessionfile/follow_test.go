package sessionfile_test

import (
	"slices"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/sessionfile"
)

// Claude Code 2.1 can write the prompt after its answer.
func TestEntriesAreOldestFirst(t *testing.T) {
	var got []string
	for _, e := range sessionfile.Entries(agent.For(agent.Builtins()["claude"]), [][]byte{
		[]byte(`{"type":"assistant","timestamp":"2026-11-22T07:30:01.2Z","message":{"content":[{"type":"text","text":"I look."}]}}`),
		[]byte(`{"type":"user","timestamp":"2026-11-22T07:30:01.1Z","message":{"content":"fix it"}}`),
		[]byte(`{"type":"assistant","timestamp":"2026-11-22T07:30:03Z","message":{"content":[{"type":"text","text":"Done."}]}}`),
		[]byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"Without a time."}]}}`),
		[]byte(`{"type":"assistant","timestamp":"2026-11-22T07:30:02Z","message":{"content":[{"type":"text","text":"I write."}]}}`),
	}) {
		got = append(got, e.Text)
	}
	if want := []string{"fix it", "I look.", "I write.", "Done.", "Without a time."}; !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}
