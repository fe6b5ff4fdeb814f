package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// edge is one dependency: From starts when To has reached Until.
type edge struct {
	From  session.Address `json:"from"`
	To    session.Address `json:"to"`
	Until session.Await   `json:"until"`
}

func edges(specs []session.Spec) []edge {
	var all []edge
	for _, s := range specs {
		for _, on := range slices.Sorted(slices.Values(s.DependsOn)) {
			all = append(all, edge{s.Address, on, s.UntilOf(on)})
		}
	}
	return all
}

// GraphDOT writes a graph for Graphviz. An arrow points from a session to its dependency, with a
// label unless the session waits for ready. With several roles, each is a cluster.
func GraphDOT(w io.Writer, project string, specs []session.Spec) error {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n", dotText(project))
	b.WriteString("  rankdir = \"RL\"\n  node [shape = \"box\", fontname = \"sans-serif\", fontsize = \"11\"]\n")
	b.WriteString("  graph [fontname = \"sans-serif\", fontsize = \"11\", style = \"rounded\", color = \"gray\"]\n")
	byRole := map[string][]session.Spec{}
	for _, s := range specs {
		byRole[s.Role] = append(byRole[s.Role], s)
	}
	for n, role := range slices.Sorted(maps.Keys(byRole)) {
		indent := "  "
		if len(byRole) > 1 {
			fmt.Fprintf(&b, "  subgraph \"cluster_%d\" {\n    label = %s\n", n, dotText(role))
			indent = "    "
		}
		for _, s := range byRole[role] {
			fmt.Fprintf(&b, "%s%s [label = %s]\n", indent, dotText(string(s.Address)), dotText(s.Address.Short(), s.Agent.Name, s.Branch))
		}
		if len(byRole) > 1 {
			b.WriteString("  }\n")
		}
	}
	for _, e := range edges(specs) {
		label := ""
		if e.Until != session.AwaitReady {
			label = fmt.Sprintf(" [label = %s]", dotText(string(e.Until)))
		}
		fmt.Fprintf(&b, "  %s -> %s%s\n", dotText(string(e.From)), dotText(string(e.To)), label)
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// dotText joins texts as lines. It doubles backslashes, which start an escape in a label.
func dotText(lines ...string) string {
	var kept []string
	for _, l := range lines {
		if l = plaintext.OneLine(l); l != "" {
			kept = append(kept, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(l))
		}
	}
	return `"` + strings.Join(kept, `\n`) + `"`
}

// GraphJSON writes sessions and their dependencies as one document.
func GraphJSON(w io.Writer, project string, specs []session.Spec) error {
	nodes := make([]wire.Object, len(specs))
	for i, s := range specs {
		nodes[i] = wire.Object{"address", s.Address, "role", s.Role, "agent", s.Agent.Name, "branch", s.Branch, "runtime", s.Runtime.Key()}
	}
	return document(w, "project", project, "nodes", nodes, "edges", wire.List(edges(specs)))
}
