package ci

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// GitHub writes workflow commands: an annotation for each item, then the verdict.
func GitHub(w io.Writer, r Report) error {
	var b strings.Builder
	for _, i := range r.Items {
		workflowCommand(&b, i.Level, place(i.Range)+"title="+commandProperty(string(i.Address)+": "+i.What), i.Detail)
	}
	for _, d := range r.Problems {
		workflowCommand(&b, levelOf(d), place(d.Range)+"title="+commandProperty(plaintext.OneLine(d.Summary)), d.Detail)
	}
	level := "notice"
	if r.Unsure {
		level = "warning"
	}
	workflowCommand(&b, level, "title=agentform "+r.Command, r.Verdict)
	_, err := io.WriteString(w, b.String())
	return err
}

// place returns the properties for a line, or "" without one.
func place(at *session.Range) string {
	if at == nil {
		return ""
	}
	where := fmt.Sprintf("file=%s,line=%d,endLine=%d,", commandProperty(at.Filename), at.Start.Line, at.End.Line)
	if at.Start.Line == at.End.Line {
		where += fmt.Sprintf("col=%d,endColumn=%d,", at.Start.Column, at.End.Column)
	}
	return where
}

func levelOf(d session.Diagnostic) string {
	if d.Severity == session.Warning {
		return "warning"
	}
	return "error"
}

// GitHubOutputs writes a step's outputs in the format of GITHUB_OUTPUT.
func GitHubOutputs(w io.Writer, r Report) error {
	var b strings.Builder
	for _, o := range r.Outputs {
		fmt.Fprintf(&b, "%s=%s\n", o[0], o[1])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// workflowCommand replaces empty messages, which GitHub ignores.
func workflowCommand(b *strings.Builder, level, properties, text string) {
	text = commandData(text)
	if strings.TrimSpace(text) == "" {
		text = "(no details)"
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
