package view

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

func sampleGraph() []session.Spec {
	api, db, web := spec("session.api", "agents/api"), spec("session.db", "agents/db"), spec(session.Keyed("worker", `the "web"\`), "")
	review := spec("session.review", "agents/review")
	api.DependsOn = []session.Address{"session.db"}
	review.DependsOn = []session.Address{web.Address, "session.api"}
	review.Role = "reviewer"
	return []session.Spec{api, db, review, web}
}

func TestGraph(t *testing.T) {
	golden(t, "graph.dot", func(w io.Writer) error { return GraphDOT(w, "shop", sampleGraph()) })
	golden(t, "graph-flat.dot", func(w io.Writer) error { return GraphDOT(w, "shop", sampleGraph()[:2]) })
	golden(t, "graph-none.dot", func(w io.Writer) error { return GraphDOT(w, "shop", nil) })
	golden(t, "graph.json", func(w io.Writer) error { return GraphJSON(w, "shop", sampleGraph()) })
}

// dotLine matches a valid line of a graph: names and labels are quoted strings with escaped quotes
// and backslashes.
var dotLine = func() *regexp.Regexp {
	quoted := `"(?:[^"\\\n]|\\["\\n])*"`
	line := `^(?:digraph Q \{|  subgraph Q \{|    label = Q|  (?:  )?Q \[label = Q\]|  Q -> Q|  \}|\}` +
		`|  rankdir = Q|  (?:node|graph) \[[a-z]+ = Q(?:, [a-z]+ = Q)*\])$`
	return regexp.MustCompile(strings.ReplaceAll(line, "Q", quoted))
}()

func TestHostileGraph(t *testing.T) {
	evil := rapid.SampledFrom([]string{`"`, `\`, `\\"`, `"];x->y`, "\n", "\x1b[31m", "<b>", "{|}", `\N`, "//", "größe"})
	rapid.Check(t, func(t *rapid.T) {
		x := strings.Join(rapid.SliceOfN(rapid.OneOf(evil, hostile()), 0, 4).Draw(t, "text"), "")
		specs := sampleGraph()
		specs[0].Role, specs[1].Branch, specs[1].Agent.Name = x, x, x
		specs[1].Address = session.Keyed("db", x)
		specs[2].DependsOn = append(specs[2].DependsOn, session.Address(x))
		var b bytes.Buffer
		if err := GraphDOT(&b, x, specs); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if !dotLine.MatchString(strings.TrimSuffix(line, "\n")) || strings.IndexFunc(strings.TrimSuffix(line, "\n"), plaintext.Harmful) >= 0 {
				t.Fatalf("not a line of DOT: %q", line)
			}
		}
	})
}
