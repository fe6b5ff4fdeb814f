package view_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/xeipuuv/gojsonschema"
	"pgregory.net/rapid"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/cmd/internal/view/ci"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// driftFormats returns every format by the suffix of its golden file.
func driftFormats() map[string]func(io.Writer, view.DriftReport) error {
	return map[string]func(io.Writer, view.DriftReport) error{
		".txt": func(w io.Writer, r view.DriftReport) error { return view.Drift(w, view.Style{}, r) },
		".color.txt": func(w io.Writer, r view.DriftReport) error {
			return view.Drift(w, view.Style{Color: true, Width: 60}, r)
		},
		".json":       view.DriftJSON,
		".md":         func(w io.Writer, r view.DriftReport) error { return ci.Markdown(w, ci.Drift(r)) },
		".xml":        ci.JUnit,
		".sarif":      ci.SARIF,
		".github.txt": func(w io.Writer, r view.DriftReport) error { return ci.GitHub(w, ci.Drift(r)) },
		".output.txt": func(w io.Writer, r view.DriftReport) error { return ci.GitHubOutputs(w, ci.Drift(r)) },
	}
}

func sampleDrift() view.DriftReport {
	web := session.Keyed("worker", "web")
	at12 := &session.Range{Filename: "agents/shop.agentform.hcl",
		Start: session.Pos{Line: 12, Column: 1, Byte: 200}, End: session.Pos{Line: 12, Column: 17, Byte: 216}}
	return view.DriftReport{
		Project: "shop", Lineage: "5b0c9d1e-3f41-4a8e-9d55-0c6b2f7a8e90", Serial: 41, At: view.At, Agentform: "0.1.0", Complete: true,
		Sessions: []session.Address{"session.api", "session.db", web}, Dir: "/home/ada/shop",
		Items: []view.DriftItem{
			{"session.api", plan.BranchMismatch, `workspace /home/ada/shop/.agentform/workspaces/api is on "main", the state has "agents/api"`, nil},
			{"session.api", plan.Changed, "paused outside of agentform", nil},
			{web, plan.Stale, "agent exited (exit status 1)", at12},
			{"session.ghost", plan.Orphaned, "tmux session shop-ghost-77aa00 (run 99) is managed by agentform but not in the state; it is not changed", nil},
		},
	}
}

// driftReports returns a report of each kind.
func driftReports() map[string]view.DriftReport {
	calm, partial, offline, agreed := sampleDrift(), sampleDrift(), sampleDrift(), sampleDrift()
	calm.Items = nil
	partial.Complete = false
	partial.Items = append(partial.Items[2:3:3], view.DriftItem{"session.db", plan.Unreachable, "docker/sandbox: connection refused", nil})
	partial.Problems = []session.Diagnostic{
		{Severity: session.Error, Summary: "docker/sandbox cannot be inspected", Detail: "connection refused\nits sessions are unknown, not dead"},
		{Severity: session.Warning, Summary: "state_moved", Detail: "someone is at work on it"},
	}
	offline.Offline, offline.Complete = true, false
	offline.Items = []view.DriftItem{{"session.db", view.NotApplied, "not in the state", sampleDrift().Items[2].Range}}
	agreed.Offline, agreed.Complete, agreed.Items = true, false, nil
	return map[string]view.DriftReport{"drift": sampleDrift(), "drift-none": calm, "drift-partial": partial, "drift-offline": offline, "drift-agreed": agreed}
}

func TestDrift(t *testing.T) {
	for name, r := range driftReports() {
		for suffix, write := range driftFormats() {
			if name != "drift" && slices.Contains([]string{".json", ".sarif", ".color.txt", ".output.txt"}, suffix) {
				continue // the others repeat it
			}
			view.Golden(t, name+suffix, func(w io.Writer) error { return write(w, r) })
		}
	}
}

// No report claims that nothing has drifted unless everything was inspected.
func TestDriftVerdict(t *testing.T) {
	unknown := []view.DriftItem{{"session.a", plan.Unreachable, "no answer", nil}}
	for name, c := range map[string]struct {
		report view.DriftReport
		want   string
	}{
		"nothing on record": {view.DriftReport{Complete: true}, "No drift in 0 sessions."},
		"all ignored":       {view.DriftReport{Complete: true, Ignored: 2}, "Nothing was compared: 2 sessions ignored."},
		"some ignored":      {view.DriftReport{Complete: true, Ignored: 2, Sessions: []session.Address{"session.a"}}, "No drift in 1 session. 2 ignored."},
		"under way":         {view.DriftReport{Complete: true, UnderWay: 1, Sessions: []session.Address{"session.a"}}, "No drift in 1 session. 1 being changed by another command, not compared."},
		"one":               {view.DriftReport{Complete: true, Sessions: []session.Address{"session.a"}}, "No drift in 1 session."},
		"state moved":       {view.DriftReport{Sessions: []session.Address{"session.a"}}, "No drift in what could be inspected. Not everything could be inspected."},
		"unknown":           {view.DriftReport{Sessions: []session.Address{"session.a", "session.b"}, Items: unknown}, "No drift in what could be inspected. Unknown: 1 session that could not be inspected."},
		"all unknown":       {view.DriftReport{Sessions: []session.Address{"session.a"}, Items: unknown}, "Nothing was compared. Unknown: 1 session that could not be inspected."},
		"offline": {view.DriftReport{Offline: true, Sessions: []session.Address{"session.a"}},
			"The state matches the manifest (1 session). Running sessions were not checked (--offline)."},
	} {
		if got := c.report.Verdict(); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
		if c.report.Drifted() {
			t.Errorf("%s: it drifted", name)
		}
	}
}

// schemaOfSARIF returns the official schema of SARIF 2.1.0 with its errata, as published by OASIS
// at the address in it.
func schemaOfSARIF(t testing.TB) *gojsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile("testdata/sarif/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := gojsonschema.NewSchema(gojsonschema.NewBytesLoader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// holdSARIF checks that a document conforms to the schema and has no unknown members.
func holdSARIF(t testing.TB, schema *gojsonschema.Schema, document []byte) {
	t.Helper()
	result, err := schema.Validate(gojsonschema.NewBytesLoader(document))
	if err != nil {
		t.Fatal(err)
	}
	if !result.Valid() {
		t.Fatalf("%v in\n%s", result.Errors(), document)
	}
}

func TestDriftSARIFIsValid(t *testing.T) {
	schema := schemaOfSARIF(t)
	for name, r := range driftReports() {
		var b bytes.Buffer
		if err := ci.SARIF(&b, r); err != nil {
			t.Fatal(err)
		}
		holdSARIF(t, schema, b.Bytes())
		var log struct {
			Runs []struct {
				Tool struct {
					Driver struct{ Rules []struct{ ID string } }
				}
				Results []struct {
					RuleID    string
					RuleIndex int
				}
			}
		}
		if err := json.Unmarshal(b.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		run := log.Runs[0]
		if len(run.Results) != len(r.Items) {
			t.Errorf("%s: %d results, want %d", name, len(run.Results), len(r.Items))
		}
		for _, x := range run.Results {
			if rule := run.Tool.Driver.Rules[x.RuleIndex]; rule.ID != x.RuleID {
				t.Errorf("%s: rule %d is %s, not %s", name, x.RuleIndex, rule.ID, x.RuleID)
			}
		}
	}
	if result, err := schema.Validate(gojsonschema.NewStringLoader(`{"version": "2.1.0", "runs": [{}]}`)); err != nil || result.Valid() {
		t.Error("the schema takes anything", err)
	}
	for _, x := range []string{"", "a b|c%20#?&", "\x1b[31m\n<x>", "C:\\x", "größe/日本", ":x", "//host/x", "%zz"} {
		var b bytes.Buffer
		if err := ci.SARIF(&b, hostileDrift(x)); err != nil {
			t.Fatal(err)
		}
		holdSARIF(t, schema, b.Bytes())
	}
}

// hostileDrift returns a report with x in every text.
func hostileDrift(x string) view.DriftReport {
	r := sampleDrift()
	r.Project, r.Agentform, r.Manifest, r.Complete = x, x, x, false
	r.Sessions = append(r.Sessions, session.Address(x))
	r.Items = append(r.Items,
		view.DriftItem{session.Address(x), plan.Unreachable, x, &session.Range{Filename: x, Start: session.Pos{Line: 1, Column: 1}, End: session.Pos{Line: 2, Column: 1}}},
		view.DriftItem{"session.api", plan.Changed, x, nil})
	r.Problems = []session.Diagnostic{{Severity: session.Error, Summary: x, Detail: x}}
	return r
}

var workflow = regexp.MustCompile(`^::(error|warning|notice) [^:]*::.+$`)

// holdDrift checks that x cannot break out of a format.
func holdDrift(t *rapid.T, x string) {
	out := map[string]string{}
	for suffix, write := range driftFormats() {
		var b bytes.Buffer
		if err := write(&b, hostileDrift(x)); err != nil {
			t.Fatal(err)
		}
		text := view.Painted.ReplaceAllString(b.String(), "")
		if i := strings.IndexFunc(text, plaintext.Harmful); i >= 0 || !utf8.ValidString(text) {
			t.Fatalf("%s is not safe for a terminal: %q", suffix, text)
		}
		out[suffix] = b.String()
	}
	for line := range strings.Lines(out[".github.txt"]) {
		if !workflow.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Fatalf("no workflow command: %q", line)
		}
	}
	if n := strings.Count(out[".github.txt"], "\n"); n != 8 {
		t.Fatalf("%d workflow commands, want one for each of 6 differences, a problem and the verdict", n)
	}
	if n := strings.Count(out[".output.txt"], "\n"); n != 4 {
		t.Fatalf("outputs: %q", out[".output.txt"])
	}
	markdownHolds(t, out[".md"], 6)
	if err := xml.Unmarshal([]byte(out[".xml"]), new(struct{})); err != nil {
		t.Fatalf("JUnit: %v", err)
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(out[".sarif"]), &document); err != nil {
		t.Fatal(err)
	}
}

// The text contains only agentform's comments, and rows of three cells: no other HTML or tables,
// and no sign of a reference.
func markdownHolds(t *rapid.T, text string, items int) {
	if !regexp.MustCompile("^<!-- agentform:(drift|plan):").MatchString(text) || strings.Count(strings.SplitN(text, "\n", 2)[0], "--") != 2 {
		t.Fatalf("marker: %q", text)
	}
	plain := strings.ReplaceAll(strings.SplitN(text, "\n", 2)[1], "<!-- -->", "\x00")
	plain = regexp.MustCompile(`&(amp|lt|gt);`).ReplaceAllString(plain, "")
	if i := strings.IndexAny(plain, "<>&"); i >= 0 {
		t.Fatalf("HTML gets through: %q", plain[i:])
	}
	for _, sign := range []string{"@", "://", "www."} {
		if strings.Contains(strings.ToLower(plain), sign) && sign != "@" || regexp.MustCompile("@[^\x00]").MatchString(plain) {
			t.Fatalf("%s gets through in %q", sign, plain)
		}
	}
	rows := 0
	for line := range strings.Lines(plain) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		rows++
		line = regexp.MustCompile(`\\.`).ReplaceAllString(line, "")
		if strings.Count(line, "|") != 4 || strings.Contains(line, "`") {
			t.Fatalf("row %q", line)
		}
	}
	if rows != 2+items {
		t.Fatalf("%d rows in\n%s", rows, text)
	}
}

func TestHostileDrift(t *testing.T) {
	evil := rapid.SampledFrom([]string{"a|b", "a\n| x | y | z |", "`rm`", "``", "<script>alert(1)</script>", "--> <img src=x>", "--!>", "%0A::error::x",
		"\r\n::set-output name=x::y", "50%", "a,line=1", "a:b", "]]>", "@ada #1 !2 GH-3", "https://x.example www.x.example", `\`, `\|`, "&lt;", "\x00", "](x)", "- [ ] x", " "})
	rapid.Check(t, func(t *rapid.T) {
		holdDrift(t, strings.Join(rapid.SliceOfN(rapid.OneOf(evil, view.Hostile()), 1, 4).Draw(t, "text"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between")))
	})
}

// A comment has less than 65 536 characters, however much has drifted; the other formats are
// complete.
func TestDriftMany(t *testing.T) {
	r := sampleDrift()
	r.Items, r.Sessions = nil, nil
	const n = 5000
	for i := range n {
		a := session.Indexed("pool", i)
		r.Sessions = append(r.Sessions, a)
		r.Items = append(r.Items, view.DriftItem{a, plan.Missing, strings.Repeat("größe | ", 20+i%300), sampleDrift().Items[2].Range})
	}
	var markdown, again bytes.Buffer
	for _, b := range []*bytes.Buffer{&markdown, &again} {
		if err := ci.Markdown(b, ci.Drift(r)); err != nil {
			t.Fatal(err)
		}
	}
	if got := markdown.Len(); got >= 65536 || got < 65536/2 {
		t.Errorf("%d bytes of Markdown", got)
	}
	if markdown.String() != again.String() {
		t.Error("the same drift gives another text")
	}
	rows := strings.Count(markdown.String(), "\n| session.pool")
	if want := fmt.Sprintf("… and %d more", n-rows); !strings.Contains(markdown.String(), want) {
		t.Errorf("it does not say %q", want)
	}
	for suffix, write := range driftFormats() {
		if suffix == ".md" || suffix == ".output.txt" {
			continue
		}
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "pool[4999]") {
			t.Errorf("%s ends early", suffix)
		}
	}
}

func TestDriftWriteErrors(t *testing.T) {
	for suffix, write := range driftFormats() {
		if write(view.Broken{}, sampleDrift()) == nil {
			t.Errorf("%s says nothing of a write that failed", suffix)
		}
	}
}
