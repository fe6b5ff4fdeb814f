//go:build real

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// spending is what it costs a hub to know what sessions use: the first look at their
// transcripts, and each look after it, when all of them have one more answer. Time of the
// processor is measured: that of the clock is also that of other work on the machine.
func spending(t *testing.T, m *measurement) {
	const sessions = 200
	each := int64(2 << 20) // bytes
	if m.full {
		each = 50 << 20
	}
	dir := t.TempDir()
	answers := 0
	answer := func() string {
		answers++
		line := func(output int) string {
			return fmt.Sprintf(`{"isSidechain":false,"message":{"model":"claude-opus-4-8","id":"msg_%d","type":"message","role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":10,"cache_read_input_tokens":9000,"output_tokens":%d}},"requestId":"req_%[1]d","type":"assistant","timestamp":"2026-03-14T12:00:01.000Z"}`+"\n",
				answers, strings.Repeat(`It says \"hello\" and goes on.\n`, 60), output)
		}
		return line(1) + line(90) + `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"` +
			strings.Repeat(`\tif err := do(\"it\"); err != nil {\n`, 130) + `"}]},"timestamp":"2026-03-14T12:00:01.000Z"}` + "\n"
	}
	path := filepath.Join(dir, "0.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(text string) {
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	for size := int64(0); size < each; {
		text := answer()
		size += int64(len(text))
		write(text)
	}
	for n := 1; n < sessions; n++ { // all have the same
		if err := os.Link(path, filepath.Join(dir, fmt.Sprintf("%d.jsonl", n))); err != nil {
			t.Fatal(err)
		}
	}
	before := heap()
	store := usage.New(filepath.Join(dir, "data"), func(string, session.Tokens, int64) (float64, bool) { return 1, true })
	claude := agent.For(agent.Builtins()[agent.Claude])
	look := func() time.Duration {
		began := ownTime(t)
		for n := range sessions {
			id := fmt.Sprint(n)
			if err := store.Update(claude, usage.Subject{ID: id}, filepath.Join(dir, id+".jsonl"), id, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		return ownTime(t) - began
	}
	gib := float64(sessions*each) / (1 << 30)
	first := look().Seconds() / gib
	m.add(Row{Work: fmt.Sprintf("usage: the first look at a GiB of transcripts, of %d sessions", sessions), Took: Quantity{first, Seconds}, Shown: true,
		Goals: []Goal{{Says: "≤ 1 s of the processor", Got: first, Bound: 1}}})
	const looks, every = 20, 2 // seconds between looks, while agents work
	var again time.Duration
	for range looks {
		write(answer())
		again += look()
	}
	for n := range sessions {
		if sum, _ := store.Known(fmt.Sprint(n)); sum.Answers != int64(answers) {
			t.Fatalf("session %d has %d answers, and %d were written", n, sum.Answers, answers)
		}
	}
	m.add(Row{Work: fmt.Sprintf("usage: memory for each session with a transcript of %s", Memory(float64(each))), Took: Memory(float64(heap()-before) / sessions), Shown: true,
		Goals: []Goal{{Says: "≤ 16 KiB", Got: float64(heap()-before) / sessions / (1 << 10), Bound: 16}}})
	share := again.Seconds() / looks / every
	m.add(Row{Work: fmt.Sprintf("usage: looks at %d sessions every %d s, each with another answer", sessions, every), Took: Quantity{share, Share}, Shown: true,
		Goals: []Goal{{Says: "≤ 1 % of a core", Got: 100 * share, Bound: 1}}})
}

// ownTime is what this process took of the processor so far.
func ownTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// heap is the memory that is in use, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
