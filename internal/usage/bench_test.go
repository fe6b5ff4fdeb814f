package usage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// transcript writes a transcript of so many MiB as Claude Code does: a prompt, an answer
// in two lines, and what a tool has said.
func transcript(b *testing.B, path string, mib int) {
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
	for n, size := 0, 0; size < mib<<20; n++ {
		id := fmt.Sprintf("msg_%d", n)
		text := strings.Replace(claudeLine(id, "req_"+id, "claude-opus-4-8", 1), `"text":"`, `"text":"`+said[:1000], 1)
		text += strings.Replace(claudeLine(id, "req_"+id, "claude-opus-4-8", 90), `"text":"`, `"text":"`+said[:2000], 1)
		text += `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"` + said + `"}]},"uuid":"` + id + `","timestamp":"2026-03-14T12:00:01Z"}` + "\n"
		size += len(text)
		if _, err := f.WriteString(text); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstLook reads a transcript for the first time. A GiB is to take a second.
func BenchmarkFirstLook(b *testing.B) {
	const mib = 256
	path := filepath.Join(b.TempDir(), "11111111.jsonl")
	transcript(b, path, mib)
	b.SetBytes(mib << 20)
	before := processor(b)
	for b.Loop() {
		s := New(b.TempDir(), dollarEach)
		if err := s.Update(claude, Subject{ID: "api"}, path, "11111111", noon); err != nil {
			b.Fatal(err)
		}
		if x, err := s.Get("api"); err != nil || x.Total().Answers < 1000 {
			b.Fatal(x.Total(), err)
		}
	}
	b.ReportMetric((processor(b)-before).Seconds()/float64(b.N)*1024/mib, "cpu-s/GiB")
}

// processor returns how much of the processor this process has used. On a busy machine it
// says more than the clock.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkNextLook looks at 200 transcripts of which nothing has changed, and at one more
// answer in each.
func BenchmarkNextLook(b *testing.B) {
	for _, more := range []bool{false, true} {
		b.Run(fmt.Sprintf("more=%v", more), func(b *testing.B) {
			dir := b.TempDir()
			s := New(filepath.Join(dir, "data"), dollarEach)
			var paths []string
			for n := range 200 {
				paths = append(paths, filepath.Join(dir, "home", fmt.Sprintf("%d.jsonl", n)))
				transcript(b, paths[n], 1)
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

// BenchmarkRecords reads what was recorded of a transcript of 50 MiB.
func BenchmarkRecords(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "11111111.jsonl")
	transcript(b, path, 50)
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
