//go:build real

package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// write writes the document, and its plots into the folder benchmarks beside it.
func (m *measurement) write(file, machine string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Benchmarks

Written by `+"`make bench`"+` on %s: %s.

Every row was measured in one run, in turns with its floor (the least that the work can
take: what tmux, Docker and the machine need for it without agentform) and with what
people use for it today. Times are medians. They differ between machines, and with
what else a machine does; the ratios are what counts. What would take minutes with a process for each session
is done for %d sessions and scaled. The Kubernetes cluster of the rows in pods ran beside all
of them.

`, time.Now().UTC().Format(time.DateOnly), machine, sampled)
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
	plots := filepath.Join(filepath.Dir(file), "benchmarks")
	if err := os.MkdirAll(plots, 0o755); err != nil {
		return err
	}
	for _, p := range m.plots {
		name := p.Name + ".svg"
		fmt.Fprintf(&b, "\n![%s](%s/%s)\n\n", p.Title, filepath.Base(plots), name)
		for _, c := range p.Curves {
			if len(c.Points) > 1 {
				fmt.Fprintf(&b, "- %s: N to the power of %.2f\n", c.Name, c.Exponent())
			}
		}
		var svg bytes.Buffer
		if err := p.WriteSVG(&svg); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(plots, name), svg.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// missed says of each goal that is not reached what stands in the way.
func (m *measurement) missed(b *bytes.Buffer) {
	said := false
	for _, r := range m.rows {
		for _, g := range r.Short() {
			if !said {
				b.WriteString("\n## What is missed\n\n")
				said = true
			}
			fmt.Fprintf(b, "- %s: %s, and it is %s. %s\n", r.Work, g.Says, digits(g.Got), r.Missed)
		}
	}
	if !said {
		b.WriteString("\nEvery goal is reached.\n")
	}
}
