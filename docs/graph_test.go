//go:build real

package docs_test

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"slices"
	"testing"
)

// TestPicture: docs/graph.svg shows the graph of the manifest that it is said to
// show. If not, make it again with the command that stands beside it.
func TestPicture(t *testing.T) {
	text, err := os.ReadFile("graph.svg")
	if err != nil {
		t.Fatal(err)
	}
	type group struct {
		Class string  `xml:"class,attr"`
		Title string  `xml:"title"`
		In    []group `xml:"g"`
	}
	var picture group
	if err := xml.Unmarshal(text, &picture); err != nil || len(picture.In) != 1 {
		t.Fatal(err, picture)
	}
	var shown []string
	for _, g := range picture.In[0].In {
		if g.Class == "node" || g.Class == "edge" {
			shown = append(shown, g.Title)
		}
	}
	w := newWorld(t, build(t))
	out, code := w.sh("agentform -f examples/pipeline.hcl graph --json")
	var graph struct {
		Nodes []struct{ Address string }
		Edges []struct{ From, To string }
	}
	if err := json.Unmarshal([]byte(out), &graph); code != 0 || err != nil {
		t.Fatal(err, out)
	}
	var want []string
	for _, n := range graph.Nodes {
		want = append(want, n.Address)
	}
	for _, e := range graph.Edges {
		want = append(want, e.From+"->"+e.To)
	}
	slices.Sort(shown)
	slices.Sort(want)
	if len(want) == 0 || !slices.Equal(shown, want) {
		t.Errorf("the picture shows %q, and the graph has %q", shown, want)
	}
}
