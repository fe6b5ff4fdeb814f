package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteText prints the rows for a terminal.
func WriteText(w io.Writer, rows []Row) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "WORK\tAGENTFORM\tFLOOR\tTODAY\tGOAL\tREACHED")
	for _, r := range rows {
		goals, verdicts := r.goals("; ")
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", strings.ReplaceAll(r.Work, "`", ""), r.Took, r.Floor.Took, r.Today.Took, goals, strings.ReplaceAll(verdicts, "**", ""))
	}
	return out.Flush()
}

// WriteSummary writes the rows for readers as a Markdown table, without their goals.
func WriteSummary(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| | agentform | floor | today's way | ratio |\n|---|---|---|---|---|\n")
	for _, r := range rows {
		if r.Shown {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Work, r.Took, r.Floor, r.Today, r.Ratio())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the rows as a table.
func WriteMarkdown(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| work | agentform | floor | what people use today | goal | reached |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		goals, verdicts := r.goals("<br>")
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", r.Work, r.Took, r.Floor, r.Today, goals, verdicts)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String is how much it took, and what it is.
func (b Beside) String() string {
	if b.Took.Unit == Unknown {
		return "–"
	}
	return b.Took.String() + ": " + b.What
}

func (r Row) goals(between string) (goals, verdicts string) {
	var all, met []string
	for _, g := range r.Goals {
		all, met = append(all, g.Says), append(met, g.Verdict())
	}
	if len(all) == 0 {
		return "–", "–"
	}
	return strings.Join(all, between), strings.Join(met, between)
}
