package view

import (
	"io"
	"strings"
	"sync"
	"testing"
)

func TestManySays(t *testing.T) {
	for want, m := range map[string]Many{
		"sent to 10 sessions":                             {Verb: "sent to", Done: 10, All: 10},
		"sent to 9 of 10 sessions; 1 failed":              {Verb: "sent to", Done: 9, All: 10, Failed: 1},
		"stopped 1 of 4 sessions; 1 held, 2 unchanged":    {Verb: "stopped", Done: 1, All: 4, Held: 1, Unchanged: 2},
		"stopped 0 of 4 sessions; 1 skipped, 3 not begun": {Verb: "stopped", All: 4, Skipped: 1, Left: 3},
	} {
		if got := m.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestPrefixes(t *testing.T) {
	var b strings.Builder
	x := NewPrefixes(&b, Style{}, []string{"api", `worker["web"]`})
	api, web := x.Writer(0), x.Writer(1)
	for _, step := range []struct {
		to   io.Writer
		text string
	}{{api, "one\ntw"}, {web, "other\n"}, {api, "o\n\n"}, {web, "no end"}} {
		if n, err := io.WriteString(step.to, step.text); n != len(step.text) || err != nil {
			t.Fatal(n, err)
		}
	}
	_, _ = api.Close(), web.Close()
	want := `api           | one
worker["web"] | other
api           | two
api           |
worker["web"] | no end
`
	if b.String() != want {
		t.Errorf("%s, want\n%s", b.String(), want)
	}
	b.Reset()
	w := NewPrefixes(&b, Style{Color: true}, []string{"api"}).Writer(0)
	_, _ = io.WriteString(w, strings.Repeat("x", maxLine+1)+"\n")
	if !strings.HasPrefix(b.String(), "\x1b[36mapi |\x1b[0m xx") {
		t.Errorf("%.40q", b.String())
	}
}

// Lines of several sessions do not mix.
func TestPrefixesAtOnce(t *testing.T) {
	var b strings.Builder
	x := NewPrefixes(&b, Style{}, []string{"a", "b"})
	var work sync.WaitGroup
	for i := range 2 {
		work.Go(func() {
			w := x.Writer(i)
			for range 200 {
				_, _ = io.WriteString(w, "begin")
				_, _ = io.WriteString(w, " end\n")
			}
		})
	}
	work.Wait()
	for line := range strings.Lines(b.String()) {
		if line != "a | begin end\n" && line != "b | begin end\n" {
			t.Fatalf("%q", line)
		}
	}
}
