package ci

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// GitHub writes workflow commands: an annotation for each difference, and last the verdict.
func GitHub(w io.Writer, r view.DriftReport) error {
	r = r.Near()
	var b strings.Builder
	for _, i := range r.Items {
		var where string
		if i.Range != nil {
			where = fmt.Sprintf("file=%s,line=%d,endLine=%d,", commandProperty(i.Range.Filename), i.Range.Start.Line, i.Range.End.Line)
			if i.Range.Start.Line == i.Range.End.Line {
				where += fmt.Sprintf("col=%d,endColumn=%d,", i.Range.Start.Column, i.Range.End.Column)
			}
		}
		workflowCommand(&b, "error", where+"title="+commandProperty(string(i.Address)+": "+view.KindWords(i.Kind)), i.Detail)
	}
	for _, d := range r.Problems {
		workflowCommand(&b, levelOf(d), "title="+commandProperty(plaintext.OneLine(d.Summary)), d.Detail)
	}
	level := "notice"
	if !r.Complete || r.Offline {
		level = "warning"
	}
	workflowCommand(&b, level, "title=agentform drift", r.Verdict())
	_, err := io.WriteString(w, b.String())
	return err
}

func levelOf(d session.Diagnostic) string {
	if d.Severity == session.Warning {
		return "warning"
	}
	return "error"
}

// GitHubOutputs writes the outputs of a step, for the file that GITHUB_OUTPUT names.
func GitHubOutputs(w io.Writer, r view.DriftReport) error {
	live := "looked_at"
	if r.Offline {
		live = "unknown"
	}
	_, err := fmt.Fprintf(w, "drift=%t\ncount=%d\ncomplete=%t\nlive=%s\n", r.Drifted(), len(r.Items), r.Complete, live)
	return err
}

// workflowCommand fills empty messages, which GitHub ignores.
func workflowCommand(b *strings.Builder, level, properties, text string) {
	text = commandData(text)
	if strings.TrimSpace(text) == "" {
		text = "(no more is known)"
	}
	fmt.Fprintf(b, "::%s %s::%s\n", level, properties, text)
}

// commandData keeps a text on one line, so that it cannot start a command.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(plaintext.Safe(s))
}

func commandProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(s))
}
