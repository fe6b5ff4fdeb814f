package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// sampleSteps returns a first look at the sessions and their later changes.
func sampleSteps() []Step {
	first := sampleSessions()
	then := slices.Clone(first)
	then[0].Activity, then[0].PR = session.Idle, "https://git.example.org/shop/pulls/12"
	then[1].Activity, then[1].Detail = session.Working, ""
	yes := true
	then[2].State, then[2].Activity, then[2].Alive = session.StateRunning, session.NoActivity, &yes
	then[2].Detail = ""
	then[5].Restarts = 9
	then = then[:6]
	return append(Steps(nil, first, at), Steps(first, then, at.Add(90*time.Second))...)
}

func TestSteps(t *testing.T) {
	styles(t, "steps", false, func(w io.Writer, s Style) error { return StepLines(w, s, sampleSteps(), 21) })
	same := sampleSessions()
	for i := range same { // a permanent state is not a step
		same[i].Detail = "esc to interrupt (12s)"
		same[i].LastEvent = &api.LastEvent{Time: at}
	}
	if steps := Steps(sampleSessions(), same, at); len(steps) > 0 {
		t.Errorf("nothing has changed, and %d steps", len(steps))
	}
}

func sampleWaited() []Waited {
	s := sampleSessions()
	s[0].Activity = session.Idle
	return []Waited{{s[0], "reached"}, {s[1], "waiting"}, {s[len(s)-1], "over"}, {api.Session{Address: "session.old"}, "over"}}
}

func sampleNeedy() Needy {
	return Needy{Session: sampleSessions()[1], Priority: 5, Reason: "blocked", Since: ago(3 * time.Minute)}
}

func TestWaited(t *testing.T) {
	styles(t, "wait", false, func(w io.Writer, s Style) error {
		for _, x := range sampleWaited() {
			if err := WaitedLine(w, s, x, at); err != nil {
				return err
			}
		}
		return nil
	})
	styles(t, "next", true, func(w io.Writer, s Style) error {
		for _, reason := range []string{"blocked", "turn_ended", "blocked_api", "failed", "branch_mismatch"} {
			n := sampleNeedy()
			n.Reason = reason
			if err := errors.Join(NeedLine(w, s, n, at), NeedRow(w, s, n, at)); err != nil {
				return err
			}
		}
		return nil
	})
	n, b := sampleNeedy(), strings.Builder{}
	n.Reason, n.Detail, n.Since = "unhealthy", "unhealthy: its heartbeat failed", at.Add(-5*time.Second)
	if err := NeedLine(&b, Style{}, n, at); err != nil || !strings.HasPrefix(b.String(), "unhealthy for 5s: its heartbeat failed") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestFollowDocuments(t *testing.T) {
	golden(t, "wait.json", func(w io.Writer) error { return WaitedJSON(w, sampleWaited(), "turn", false, true, 30*time.Second) })
	golden(t, "answer.json", func(w io.Writer) error {
		asks := sampleNeedy().Question
		return AnswersJSON(w, []Answer{
			{Address: "session.api", Question: asks, Given: "yes", Option: &asks.Options[0]},
			{Address: "session.web", Err: errors.New("session.web: the agent asks no question: it is idle")},
		})
	})
	golden(t, "next.json", func(w io.Writer) error { return NeedJSON(w, sampleNeedy()) })
	golden(t, "next-all.json", func(w io.Writer) error { return NeedsJSON(w, []Needy{sampleNeedy()}) })
	golden(t, "watch.jsonl", func(w io.Writer) error {
		l, err := NewLines(w, "0.1.0", func() time.Time { return at })
		if err != nil {
			return err
		}
		steps := sampleSteps()
		for _, s := range []Step{steps[1], steps[len(steps)-4], steps[len(steps)-1]} {
			if err := l.Step(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// Whatever is in the values, only agentform's own colours reach the terminal.
func TestHostileSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := hostile().Draw(t, "text")
		s := sampleSessions()[1]
		s.Address, s.Detail, s.PR, s.State, s.Activity = session.Address(x), x, x, session.State(x), session.Activity(x)
		other := sampleSessions()[0]
		var text, documents bytes.Buffer
		style := Style{Color: true, Width: 80}
		l, err := NewLines(&documents, x, func() time.Time { return at })
		for _, err := range []error{
			err, StepLines(&text, style, []Step{{at, nil, &s}, {at, &other, &s}, {at, &s, nil}}, 10),
			WaitedLine(&text, style, Waited{s, "over"}, at), NeedLine(&text, style, Needy{s, 1, x, at}, at), NeedRow(&text, style, Needy{s, 1, x, at}, at),
			l.Step(Step{at, &other, &s}), WaitedJSON(&documents, []Waited{{s, "over"}}, x, false, false, 0), NeedJSON(&documents, Needy{s, 1, x, at}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if plain := ours.ReplaceAllString(text.String(), ""); strings.IndexFunc(plain, plaintext.Harmful) >= 0 {
			t.Fatalf("%q reaches the terminal", plain)
		}
		if strings.IndexFunc(documents.String(), plaintext.Harmful) >= 0 {
			t.Fatalf("%q is not plain text", documents.String())
		}
		for d := json.NewDecoder(&documents); d.More(); {
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// screen is the part of a terminal that a region needs.
type screen struct {
	rows        [][]rune
	width, tall int
	x, y        int
}

func newScreen(width, tall int) *screen {
	return &screen{rows: make([][]rune, tall), width: width, tall: tall}
}

func (s *screen) newline() {
	if s.y++; s.y == s.tall {
		s.rows, s.y = append(s.rows[1:], nil), s.tall-1
	}
}

func (s *screen) Write(b []byte) (int, error) {
	for text := string(b); text != ""; {
		if at := plaintext.Sequence.FindStringIndex(text); at != nil && at[0] == 0 {
			var n int
			switch seq := text[:at[1]]; {
			case seq == "\x1b[K":
				s.rows[s.y] = s.rows[s.y][:min(s.x, len(s.rows[s.y]))]
			case seq == "\x1b[J":
				s.rows[s.y] = s.rows[s.y][:min(s.x, len(s.rows[s.y]))]
				clear(s.rows[s.y+1:])
			case seq == "\x1b[H":
				s.x, s.y = 0, 0
			case seq == "\x1b[2J":
				clear(s.rows)
			case strings.HasSuffix(seq, "A"):
				fmt.Sscanf(seq, "\x1b[%dA", &n)
				s.y = max(s.y-n, 0)
			}
			text = text[at[1]:]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			s.x = 0
		case '\n':
			s.newline()
		default:
			if s.x == s.width {
				s.x = 0
				s.newline()
			}
			s.rows[s.y] = append(s.rows[s.y][:min(s.x, len(s.rows[s.y]))], r)
			s.x++
		}
	}
	return len(b), nil
}

func (s *screen) String() string {
	var lines []string
	for _, r := range s.rows {
		lines = append(lines, string(r))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// However often a region is drawn, only its last text is below the earlier output; if there is no
// room for all of it, the last line is.
func TestRegion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const width, tall = 10, 7
		s := newScreen(width, tall)
		fmt.Fprint(s, "before\r\n")
		r := NewRegion(s)
		var text string
		for range rapid.IntRange(1, 6).Draw(t, "drawings") {
			lines := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,25}`), 1, 3).Draw(t, "lines")
			text = strings.Join(lines, "\n")
			if err := r.Draw(text+"\n", width, tall); err != nil {
				t.Fatal(err)
			}
		}
		want := newScreen(width, tall)
		fmt.Fprint(want, "before\r\n")
		if err := NewRegion(want).Draw(text, width, tall); err != nil {
			t.Fatal(err)
		}
		got := s.String()
		if !strings.HasSuffix(got, strings.TrimPrefix(want.String(), "before\n")) || strings.Count(got, "before") > 1 {
			t.Fatalf("shows:\n%s\nwant at its end:\n%s", got, want)
		}
		if rest := strings.TrimSuffix(got, strings.TrimPrefix(want.String(), "before\n")); rest != "" && rest != "before\n" {
			t.Fatalf("left above: %q", rest)
		}
	})
}

func TestRegionFits(t *testing.T) {
	s := newScreen(20, 6)
	r := NewRegion(s)
	draw := func(text, want string, width, rows int) {
		t.Helper()
		if err := r.Draw(text, width, rows); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.String()); diff != "" {
			t.Errorf("%d × %d (-want +got):\n%s", width, rows, diff)
		}
	}
	draw("1\n2\n3\n4\n5\n6\nend\n", "1\n2\n3\n… 3 lines more\nend", 20, 6)
	draw("1\n2\nend\n", "1\n2\nend", 20, 6)
	s.width = 5 // a narrowed terminal is cleared, since the places of the old lines are unknown
	draw("1\n1234567\nend\n", "1\n12345\n67\nend", 5, 6)
	draw("1\nend\n", "1\nend", 5, 6)
	before := s.String()
	s.rows[0] = []rune("x")
	draw("1\nend\n", "x"+before[1:], 5, 6) // the same text is not drawn again
	wide := Style{Color: true}.paint(bold, "12345") + "日本"
	if got := height(wide, 5); got != 2 {
		t.Errorf("%q takes %d rows", wide, got)
	}
}
