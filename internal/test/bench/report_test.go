//go:build real

package bench

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

var document = flag.String("document", "", "measure all of it, and write it to this Markdown file; its plots go into benchmarks/ beside it")

var full = flag.Bool("full", false, "measure all of it, as for the document, and print it: with -run TestRatios/kubernetes the rows of one part")

var most = flag.Int("most", 1000, "live tmux sessions to measure at most, for a machine that is slow or busy")

// steepest is how steeply a cost may grow with the number of sessions: linear, and
// something for the noise of two sizes that were measured minutes apart. A quadratic
// step is 2.
const steepest = 1.3

// measurement is one run: how much is measured, and what came of it.
type measurement struct {
	full  bool
	bin   string // where the built programs are
	rows  []Row
	plots []Plot
	notes []string // what was left out, and why
}

// each is how large a piece of work is, one after the other: up to the most for the
// document, and else a hundred.
func (m *measurement) each(sizes ...int) []int {
	if m.full {
		return sizes
	}
	return sizes[:1]
}

// live is each of numbers of tmux sessions, up to the most that are wanted.
func (m *measurement) live(sizes ...int) []int {
	return slices.DeleteFunc(m.each(sizes...), func(n int) bool { return n > *most })
}

// turns measures all of the works one after the other, several times, and returns
// what is typical of each: of the document the median, and else the best, which is
// least disturbed by what else the machine does.
func (m *measurement) turns(times int, works ...func() time.Duration) []time.Duration {
	samples := make([][]time.Duration, len(works))
	for range times {
		for i, work := range works {
			samples[i] = append(samples[i], work())
		}
	}
	typical := make([]time.Duration, len(works))
	for i, s := range samples {
		typical[i] = m.typical(s)
	}
	return typical
}

// typical returns what is typical of samples.
func (m *measurement) typical(samples []time.Duration) time.Duration {
	if m.full {
		return median(samples)
	}
	return slices.Min(samples)
}

func (m *measurement) add(r Row) { m.rows = append(m.rows, r) }

// TestRatios measures everything beside its floor and prints a table. Without -document
// that is little, and no speed fails it; with it, it is all, and what fails is a cost that
// does not grow linearly.
func TestRatios(t *testing.T) {
	m := &measurement{full: *full || *document != "", bin: built(t)}
	on := describe(t)
	for _, part := range []struct {
		name    string
		measure func(*testing.T, *measurement)
	}{
		{"plan", planInSync},
		{"apply", applyAndStop},
		{"docker", inContainers},
		{"kubernetes", inPods},
		{"hub", hubIdle},
		{"ui", terminalPage},
		{"page", browserPage},
		{"alone", planAlone},
		{"scripted", planScripted},
		{"state", recording},
		{"start", start},
		{"changes", changes},
		{"landing", landing},
		{"lock", lockLeft},
		{"usage", spending},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.measure(t, m) }) {
			m.leftOut("all of " + part.name + ", which failed")
		}
	}
	fmt.Println(on)
	if err := WriteText(os.Stdout, m.rows); err != nil {
		t.Fatal(err)
	}
	for _, n := range m.notes {
		fmt.Printf("Not measured: %s.\n", n)
	}
	if !m.full {
		return
	}
	if *document != "" {
		if err := m.write(*document, on); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range m.plots {
		for _, c := range p.Curves {
			if e := c.Exponent(); c.Ours && e > steepest {
				t.Errorf("%s: %s grows like N to the power of %.2f", p.Title, c.Name, e)
			}
		}
	}
}
