package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
)

func TestExponent(t *testing.T) {
	for _, c := range []struct {
		name string
		cost func(n float64) float64
		want float64
	}{
		{"linear", func(n float64) float64 { return 3 * n }, 1},
		{"quadratic", func(n float64) float64 { return n * n / 7 }, 2},
		{"constant", func(float64) float64 { return 5 }, 0},
		// What is linear at first and then takes a quadratic step is not excused by its beginning.
		{"a step", func(n float64) float64 { return n + math.Max(0, n-900)*n }, math.Log(101_000/300.) / math.Log(1000/300.)},
	} {
		var curve Curve
		for _, n := range []int{1000, 100, 300} { // in any order
			curve.Add(n, c.cost(float64(n)))
		}
		if got := curve.Exponent(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if got := (Curve{Points: []Point{{100, 1}}}).Exponent(); got != 0 {
		t.Errorf("of one size: %v", got)
	}
}

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		q    Quantity
		want string
	}{
		{Time(1234 * time.Millisecond), "1.23 s"},
		{Time(12340 * time.Microsecond), "12.3 ms"},
		{Time(999 * time.Microsecond), "999 µs"},
		{Memory(3 << 20), "3.00 MiB"},
		{Memory(512), "512 B"},
		{Quantity{0.005, Share}, "0.50 % of a core"},
		{Quantity{}, "–"},
	} {
		if got := c.q.String(); got != c.want {
			t.Errorf("%#v: %q, want %q", c.q, got, c.want)
		}
	}
}

func TestGoal(t *testing.T) {
	for _, c := range []struct {
		goal    Goal
		reached bool
		verdict string
	}{
		{Goal{Got: 1.2, Bound: 1.5}, true, "yes: 1.20"},
		{Goal{Got: 3, Bound: 1.5}, false, "**no**: 3.00, 2.00 × too much"},
		{Goal{Got: 600, Bound: 300, AtLeast: true}, true, "yes: 600"},
		{Goal{Got: 100, Bound: 300, AtLeast: true}, false, "**no**: 100, where 300 are wanted"},
	} {
		if c.goal.Reached() != c.reached || c.goal.Verdict() != c.verdict {
			t.Errorf("%+v: %v, %q", c.goal, c.goal.Reached(), c.goal.Verdict())
		}
	}
}

func TestTables(t *testing.T) {
	rows := []Row{
		{Work: "plan", Took: Time(time.Second), Floor: Beside{"a look", Time(time.Millisecond)}, Goals: []Goal{{Says: "≤ 2 × floor", Got: 1000, Bound: 2}}},
		{Work: "start", Took: Time(time.Millisecond)},
	}
	rows[0].Shown, rows[0].Today = true, Beside{"a process each", Time(3 * time.Second)}
	var text, markdown, summary strings.Builder
	if err := errors.Join(WriteText(&text, rows), WriteMarkdown(&markdown, rows), WriteSummary(&summary, rows)); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(markdown.String()), "\n"); len(lines) != 4 ||
		lines[2] != "| plan | 1.00 s | 1.00 ms: a look | 3.00 s: a process each | ≤ 2 × floor | **no**: 1000, 500 × too much |" {
		t.Errorf("Markdown:\n%s", markdown.String())
	}
	if lines := strings.Split(strings.TrimSpace(summary.String()), "\n"); len(lines) != 3 ||
		lines[2] != "| plan | 1.00 s | 1.00 ms: a look | 3.00 s: a process each | 3.00 × faster |" {
		t.Errorf("summary:\n%s", summary.String())
	}
	if lines := strings.Split(text.String(), "\n"); len(lines) != 4 || strings.Contains(text.String(), "*") {
		t.Errorf("text:\n%s", text.String())
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		row  Row
		want string
	}{
		{Row{Took: Time(time.Second), Floor: Beside{"a look", Time(time.Millisecond)}, Today: Beside{"a script", Time(4 * time.Second)}}, "4.00 × faster"},
		{Row{Took: Time(time.Second), Floor: Beside{"a look", Time(400 * time.Millisecond)}}, "2.50 × the floor"},
		{Row{Took: Time(3 * time.Second), Today: Beside{"a script", Time(2 * time.Second)}}, "1.50 × slower"},
		{Row{Took: Memory(50), Today: Beside{"terraform", Memory(100)}}, "0.50 × today's"},
		{Row{Took: Time(time.Second)}, "–"},
	} {
		if got := c.row.Ratio(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.row, got, c.want)
		}
	}
}

// A plot is XML, with a mark inside the field for each point; a line that is twice as
// high in decades is twice as steep.
func TestPlot(t *testing.T) {
	var svg strings.Builder
	err := Plot{Title: "a < b", Unit: Seconds, Curves: []Curve{
		{Name: "linear", Points: []Point{{10, 0.01}, {100, 0.1}}},
		{Name: "empty"},
	}}.WriteSVG(&svg)
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	for d := xml.NewDecoder(strings.NewReader(svg.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, svg.String())
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			marks++
		}
	}
	if marks != 2 || strings.Contains(svg.String(), "empty") {
		t.Errorf("%d marks, want 2:\n%s", marks, svg.String())
	}
	if want := `points="80.0,330.0 700.0,46.0"`; !strings.Contains(svg.String(), want) {
		t.Errorf("no %s in\n%s", want, svg.String())
	}
}
