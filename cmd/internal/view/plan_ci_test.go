package view_test

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/cmd/internal/view/ci"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func planReport(t interface{ Fatal(...any) }, p plan.Plan) ci.Report {
	at := func(a session.Address) *session.Range {
		if a != "session.api" {
			return nil
		}
		return &session.Range{Filename: "agentform.hcl", Start: session.Pos{Line: 3, Column: 1}, End: session.Pos{Line: 3, Column: 14}}
	}
	r, err := ci.Plan(p, "/home/ada/shop", at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPlanFormats(t *testing.T) {
	r := planReport(t, view.SamplePlan())
	view.Golden(t, "plan.md", func(w io.Writer) error { return ci.Markdown(w, r) })
	view.Golden(t, "plan.github.txt", func(w io.Writer) error { return ci.GitHub(w, r) })
	view.Golden(t, "plan.output.txt", func(w io.Writer) error { return ci.GitHubOutputs(w, r) })
}

// No text in a plan breaks out of a format.
func TestHostilePlan(t *testing.T) {
	evil := rapid.SampledFrom([]string{"a|b", "a\n| x |", "```", "\n````\n</details>", "<script>", "--> <img>", "%0A::error::x", "\r\n::set-output name=x::y", "@ada #1", "\x00"})
	rapid.Check(t, func(t *rapid.T) {
		x := strings.Join(rapid.SliceOfN(rapid.OneOf(evil, view.Hostile()), 1, 4).Draw(t, "text"), "")
		p := view.SamplePlan()
		p.Project = x
		p.Changes = slices.Clone(p.Changes[:1])
		p.Changes[0].Detail = x
		p.Drift = []plan.Drift{{Address: session.Address(x), Kind: plan.Changed, Detail: x}}
		p.Problems = []session.Diagnostic{{Severity: session.Error, Summary: x, Detail: x}}
		r := planReport(t, p)
		var github, markdown bytes.Buffer
		if ci.GitHub(&github, r) != nil || ci.Markdown(&markdown, r) != nil {
			t.Fatal("not written")
		}
		for _, text := range []string{github.String(), markdown.String()} {
			if i := strings.IndexFunc(text, plaintext.Harmful); i >= 0 || !utf8.ValidString(text) {
				t.Fatalf("not safe for a terminal: %q", text)
			}
		}
		for line := range strings.Lines(github.String()) {
			if !workflow.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Fatalf("no workflow command: %q", line)
			}
		}
		table, folded, _ := strings.Cut(markdown.String(), "\n<details>")
		markdownHolds(t, table, len(r.Items))
		fence := folded[strings.Index(folded, "```"):strings.Index(folded, "text\n")]
		_, inside, _ := strings.Cut(folded, "text\n")
		inside, found := strings.CutSuffix(inside, fence+"\n\n</details>\n")
		if !found || strings.Contains(inside, fence) {
			t.Fatalf("the fence %q ends early:\n%s", fence, folded)
		}
	})
}
