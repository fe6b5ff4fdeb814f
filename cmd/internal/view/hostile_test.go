package view

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/doctor"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	_ "github.com/agentform/agentform/internal/test/seed"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// hostile generates text with everything that a terminal could interpret.
func hostile() *rapid.Generator[string] {
	piece := rapid.OneOf(rapid.String(), rapid.StringMatching(`(\x1b[\[\]PX^_(c7]|\x{9b}|\x{9d}|\x07|\x1b\\|[0-9;?]+[a-zA-Z]|\r|\x{202e}){0,4}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 6), func(b []byte) string { return string(b) }))
	return rapid.Map(rapid.SliceOfN(piece, 0, 4), func(s []string) string { return strings.Join(s, "") })
}

func TestSafeAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := hostile().Draw(t, "text")
		out := plaintext.Safe(in)
		if !utf8.ValidString(out) || strings.IndexFunc(out, plaintext.Harmful) >= 0 {
			t.Fatalf("plaintext.Safe(%q) = %q is not safe", in, out)
		}
		if again := plaintext.Safe(out); again != out {
			t.Fatalf("plaintext.Safe(%q) = %q, and again %q", in, out, again)
		}
	})
}

var ours = regexp.MustCompile("\x1b\\[[0-9]+m")

// Whatever is in the values, only agentform's own colours reach the terminal, and JSON is plain
// text with the same value.
func TestHostileValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := hostile().Draw(t, "text")
		p := hostilePlan(x)
		s := sampleShown()
		s.Address, s.Branch, s.Detail, s.Screen, s.Role, s.Workspace = session.Address(x), x, x, x, x, x
		s.Record.Location.Name, s.Record.Location.Socket, s.Record.LastError = x, x, x
		e := history.Event{Time: at, Address: session.Address(x), Kind: history.Kind(x), Action: x, Reason: x, By: x, Old: x, New: x, Detail: x, ID: x, Excerpt: x}
		var text, documents bytes.Buffer
		style := Style{Color: true, Width: 80}
		for _, err := range []error{
			Plan(&text, style, p, false), Plan(&text, style, p, true),
			Diagnostics(&text, style, p.Problems), Show(&text, style, s, at), Status(&text, style, []api.Session{s.Session}, false, at),
			Events(&text, style, []history.Event{e}, at), StateShow(&text, style, *s.Record), StateList(&text, []session.Record{*s.Record}),
			Doctor(&text, style, []doctor.Finding{{Level: doctor.Level(x), Subject: x, Problem: x, Remedy: x}}), Version(&text, Build{x, x, x, x}),
			wire.Write(&documents, status.PlanOf(p, x)), wire.Write(&documents, s.Document()), EventsJSON(&documents, []history.Event{e}), TailJSON(&documents, Tail{Text: x}),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		progress := NewProgress(&text, style)
		for _, k := range []history.Kind{history.ApplyStart, history.ApplyProgress, history.ApplyComplete, history.ApplyErrored, history.ApplySkipped, history.WorkKept} {
			e.Kind = k
			progress.Event(e)
		}
		for name, out := range map[string]string{"text": ours.ReplaceAllString(text.String(), ""), "JSON": documents.String()} {
			if i := strings.IndexFunc(out, plaintext.Harmful); i >= 0 || !utf8.ValidString(out) {
				t.Fatalf("%s is not safe for a terminal: …%q", name, out[max(i-20, 0):])
			}
		}
		var last struct{ Text string }
		d := json.NewDecoder(&documents)
		for d.More() {
			if err := d.Decode(&last); err != nil {
				t.Fatal(err)
			}
		}
		if want := strings.ToValidUTF8(x, "\ufffd"); last.Text != want {
			t.Fatalf("JSON says %q, want %q", last.Text, want)
		}
	})
}

func hostilePlan(x string) plan.Plan {
	p := samplePlan()
	for i := range p.Changes {
		c := &p.Changes[i]
		c.Address, c.Detail, c.Reason = session.Address(x), x, plan.Reason(x)
		if c.After != nil {
			c.After.Branch, c.After.Role, c.After.Args = x, x, []string{x}
		}
		c.Fields = append(c.Fields, plan.Field{Path: x, Before: x, After: []string{x}, Forces: plan.ForcesRestart},
			plan.Field{Path: "labels", After: map[string]string{x: x}})
	}
	p.Drift = append(p.Drift, plan.Drift{Address: session.Address(x + "2"), Kind: plan.DriftKind(x), Detail: x})
	p.Problems = append(p.Problems, session.Diagnostic{Severity: session.Error, Summary: x, Detail: x, Address: session.Address(x)},
		session.Diagnostic{Severity: session.Warning, Summary: x, Detail: x, Range: &session.Range{Filename: x},
			Snippet: &session.Snippet{Context: x, Code: x, From: 0, To: len(x), Values: []session.Value{{Traversal: x, Statement: x}}}})
	return p
}

// A tail is at most the limit, in whole characters, and starts at a line if possible.
func TestTail(t *testing.T) {
	line := strings.Repeat("ä", 50) + "\n"
	for name, c := range map[string]struct {
		in        string
		want      string
		truncated bool
	}{
		"short":            {"a\nb\n", "a\nb\n", false},
		"exactly":          {strings.Repeat("x", session.TailLimit), strings.Repeat("x", session.TailLimit), false},
		"lines":            {strings.Repeat(line, 1000), strings.Repeat(line, session.TailLimit/len(line)), true},
		"one line":         {strings.Repeat("x", session.TailLimit+5), strings.Repeat("x", session.TailLimit), true},
		"one line, runes":  {"x" + strings.Repeat("€", session.TailLimit/3+1), strings.Repeat("€", session.TailLimit/3), true},
		"cut at a line":    {"gone\n" + strings.Repeat("x", session.TailLimit-2) + "\ny", strings.Repeat("x", session.TailLimit-2) + "\ny", true},
		"cut inside runes": {strings.Repeat("€", session.TailLimit/3) + "xx", strings.Repeat("€", session.TailLimit/3-1) + "xx", true},
		"not UTF-8":        {"a\xffb", "a\ufffdb", false},
	} {
		got, truncated := wire.Tail(c.in)
		if got != c.want || truncated != c.truncated {
			t.Errorf("%s: got %d bytes, truncated %v; want %d, %v", name, len(got), truncated, len(c.want), c.truncated)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := strings.Repeat(hostile().Draw(t, "part")+"\n", rapid.IntRange(0, 20_000).Draw(t, "times"))
		got, truncated := wire.Tail(in)
		if len(got) > session.TailLimit || !utf8.ValidString(got) || !strings.HasSuffix(strings.ToValidUTF8(in, "\ufffd"), got) {
			t.Fatalf("%d bytes of %d, truncated %v", len(got), len(in), truncated)
		}
	})
}

// broken is a writer that fails, like a full disk.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteErrors(t *testing.T) {
	w, s := broken{}, Style{}
	lines, err := NewLines(w, "0.1.0", time.Now)
	for name, err := range map[string]error{
		"NewLines": err, "Lines.Plan": lines.Plan(samplePlan()), "Lines.Summary": lines.Summary(Tally{}),
		"Plan": Plan(w, s, samplePlan(), false), "PlanJSON": wire.Write(w, status.PlanOf(samplePlan(), "")), "Status": Status(w, s, nil, false, at),
		"StatusJSON": wire.Write(w, status.DocumentOf(nil, api.Places{}, api.HubDown)), "Diagnostics": Diagnostics(w, s, sampleDiagnostics()), "EventsJSON": EventsJSON(w, sampleEvents()),
		"Show": Show(w, s, sampleShown(), at), "Doctor": Doctor(w, s, nil), "Summary": Summary(w, s, Tally{}), "Version": Version(w, Build{}),
	} {
		if err == nil {
			t.Errorf("%s says nothing of a write that failed", name)
		}
	}
}
