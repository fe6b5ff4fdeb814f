package usage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agentform/agentform/agent"
)

// answered are the lines of each agent for one answer of its model, with a tool's output and the
// usage.
var answered = map[string]func(n int, said string) string{
	agent.Claude: func(n int, said string) string {
		id := fmt.Sprintf("msg_%d", n)
		one := func(output int64, text string) string {
			return strings.Replace(claudeLine(id, "req_"+id, "claude-opus-4-8", output), `"text":"`, `"text":"`+text, 1)
		}
		return one(1, said[:1000]) + one(90, said[:2000]) +
			`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"` + said + `"}]},"uuid":"` + id + `","timestamp":"2026-03-14T12:00:01Z"}` + "\n"
	},
	agent.Codex: func(n int, said string) string {
		counts := fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":7,"output_tokens":90,"reasoning_output_tokens":9}`, n)
		line := func(kind, payload string) string {
			return `{"timestamp":"2026-03-14T12:00:01.000Z","ordinal":1,"type":"` + kind + `","payload":{` + payload + "}}\n"
		}
		return line("turn_context", `"cwd":"/work","model":"gpt-5","approval_policy":"never"`) +
			line("response_item", `"type":"message","role":"assistant","content":[{"type":"output_text","text":"`+said[:2000]+`"}]`) +
			line("event_msg", `"type":"item_completed","item":{"type":"AgentMessage","content":[{"type":"Text","text":"`+said[:2000]+`"}]}`) +
			line("response_item", `"type":"function_call_output","call_id":"call_1","output":"`+said+`"`) +
			line("token_usage_record", fmt.Sprintf(`"thread_id":"t","response_id":"resp_%d","usage":%s,"thread_token_usage":%s`, n, counts, counts)) +
			line("event_msg", `"type":"token_count","info":{"total_token_usage":`+counts+`,"last_token_usage":`+counts+`}`)
	},
	agent.Gemini: func(n int, said string) string { // all is in one line, which is rewritten with the tool's result
		line := func(calls string) string {
			return fmt.Sprintf(`{"id":"m%d","timestamp":"2026-03-14T12:00:01.000Z","type":"gemini","content":"%s","thoughts":[]%s,"tokens":{"input":%d,"output":50,"cached":1,"thoughts":2,"tool":0,"total":61},"model":"gemini-3.8-flash"}`+"\n",
				n, said[:2000], calls, n)
		}
		return line("") + line(`,"toolCalls":[{"name":"bash","args":{"command":"go test"},"status":"success","result":[{"functionResponse":{"response":{"output":"`+said+`"}}}]}]`) +
			`{"$set":{"lastUpdated":"2026-03-14T12:00:01.000Z"}}` + "\n"
	},
}

// transcript writes a transcript of some MiB in the agent's format.
func transcript(b *testing.B, name, path string, mib int) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	said := strings.Repeat(`It says \"hello\" and goes on to the next line.\n`, 100)
	for n, size := 1, 0; size < mib<<20; n++ {
		text := answered[name](n, said)
		size += len(text)
		if _, err := f.WriteString(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstLook reads a transcript for the first time. The target is a second for a GiB.
func BenchmarkFirstLook(b *testing.B) {
	for _, name := range []string{agent.Claude, agent.Codex, agent.Gemini} {
		b.Run(name, func(b *testing.B) {
			const mib = 256
			path := filepath.Join(b.TempDir(), "11111111.jsonl")
			transcript(b, name, path, mib)
			a := agent.For(agent.Builtins()[name])
			b.SetBytes(mib << 20)
			var took time.Duration
			for b.Loop() {
				s := New(b.TempDir(), dollarEach)
				before := processor(b)
				if err := s.Update(a, Subject{ID: "api"}, path, "11111111", noon); err != nil {
					b.Fatal(err)
				}
				took += processor(b) - before
				if x, err := s.Get("api"); err != nil || x.Total().Answers < 1000 {
					b.Fatal(x.Total(), err)
				}
			}
			b.ReportMetric(took.Seconds()/float64(b.N)*1024/mib, "cpu-s/GiB")
		})
	}
}

// processor returns the processor time of this process, which on a busy machine is more reliable
// than the clock.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkNextLook reads 200 unchanged transcripts, and one more answer in each.
func BenchmarkNextLook(b *testing.B) {
	for _, more := range []bool{false, true} {
		b.Run(fmt.Sprintf("more=%v", more), func(b *testing.B) {
			dir := b.TempDir()
			s := New(filepath.Join(dir, "data"), dollarEach)
			var paths []string
			for n := range 200 {
				paths = append(paths, filepath.Join(dir, "home", fmt.Sprintf("%d.jsonl", n)))
				transcript(b, agent.Claude, paths[n], 1)
			}
			round := 0
			look := func() {
				for n, path := range paths {
					if more {
						f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
						if err != nil {
							b.Fatal(err)
						}
						_, _ = f.WriteString(claudeLine(fmt.Sprint("more", round), "r", "m", 1))
						f.Close()
					}
					if err := s.Update(claude, Subject{ID: fmt.Sprint("s", n)}, path, fmt.Sprint(n), noon); err != nil {
						b.Fatal(err)
					}
				}
				round++
			}
			look()
			before := processor(b)
			for b.Loop() {
				look()
			}
			b.ReportMetric((processor(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/look")
		})
	}
}

// BenchmarkRecords reads the record of a transcript of 50 MiB.
func BenchmarkRecords(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "11111111.jsonl")
	transcript(b, agent.Claude, path, 50)
	data := filepath.Join(dir, "data")
	if err := New(data, dollarEach).Update(claude, Subject{ID: "api"}, path, "11111111", noon); err != nil {
		b.Fatal(err)
	}
	before := processor(b)
	for b.Loop() {
		if x, err := New(data, dollarEach).Get("api"); err != nil || x.Total().Answers < 1000 {
			b.Fatal(x.Total(), err)
		}
	}
	b.ReportMetric((processor(b)-before).Seconds()*1000/float64(b.N), "cpu-ms/session")
}
