//go:build real

package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// write writes the table for readers to file, and the rest into the directory benchmarks beside it.
func (m *measurement) write(file, machine string) error {
	folder := filepath.Join(filepath.Dir(file), "benchmarks")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	written := fmt.Sprintf("Written by `make bench` on %s: %s.\n\n", time.Now().UTC().Format(time.DateOnly), machine)
	var b bytes.Buffer
	b.WriteString("# Benchmarks\n\n" + written + `Every row was measured in one run, in turns with its floor and with what people use for it today.
The floor is the least that the work takes: what tmux, Docker, git and the machine need for it
without agentform. Times are medians. They differ between machines; the ratios matter. Ratio
compares with today's way, and with the floor where there is none.

`)
	if err := WriteSummary(&b, m.rows); err != nil {
		return err
	}
	goals, reached := m.goals()
	fmt.Fprintf(&b, `
%d of %d goals are reached. [All rows](benchmarks/README.md) has them, with what stands in the way of
the others and how each cost grows. [0056](decisions/0056-performance-goals-that-are-missed.md) says
which of them are not pursued and why.
`, reached, goals)
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		return err
	}
	b.Reset()
	b.WriteString("# All benchmarks\n\n" + written)
	fmt.Fprintf(&b, `[BENCHMARKS.md](../BENCHMARKS.md) has the rows that most readers want. What would take minutes with
a process for each session is done for %d sessions and scaled. The Kubernetes cluster of the rows in
pods ran beside all of them.

`, sampled)
	if err := WriteMarkdown(&b, m.rows); err != nil {
		return err
	}
	m.missed(&b)
	for _, n := range m.notes {
		fmt.Fprintf(&b, "\nNot measured: %s.\n", n)
	}
	fmt.Fprintf(&b, `
## Growth

Both axes are logarithmic. What grows linearly is parallel to the dashed line, and what
is quadratic is twice as steep. The exponent is the largest between two neighbouring
sizes; `+"`make bench`"+` fails where one of agentform's is above %.1f.
`, steepest)
	for _, p := range m.plots {
		name := p.Name + ".svg"
		fmt.Fprintf(&b, "\n![%s](%s)\n\n", p.Title, name)
		for _, c := range p.Curves {
			if len(c.Points) > 1 {
				fmt.Fprintf(&b, "- %s: N to the power of %.2f\n", c.Name, c.Exponent())
			}
		}
		var svg bytes.Buffer
		if err := p.WriteSVG(&svg); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), svg.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "README.md"), b.Bytes(), 0o644)
}

// goals counts the goals of all rows, and those that are reached.
func (m *measurement) goals() (all, reached int) {
	for _, r := range m.rows {
		all += len(r.Goals)
		reached += len(r.Goals) - len(r.Short())
	}
	return all, reached
}

// missed says of each row with goals that are not reached what stands in the way.
func (m *measurement) missed(b *bytes.Buffer) {
	said := false
	for _, r := range m.rows {
		var short []string
		for _, g := range r.Short() {
			short = append(short, fmt.Sprintf("%s, and it is %s", g.Says, digits(g.Got)))
		}
		if len(short) == 0 {
			continue
		}
		if !said {
			b.WriteString("\n## What is missed\n\n")
			said = true
		}
		fmt.Fprintf(b, "- %s: %s. %s\n", r.Work, strings.Join(short, "; "), r.Missed)
	}
	if !said {
		b.WriteString("\nEvery goal is reached.\n")
	}
}
