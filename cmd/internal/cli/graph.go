package cli

import (
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/view"
)

func graphCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "graph",
		Short: "Print the dependency graph in DOT format",
		Long: `Prints the sessions of the manifest and their dependencies in DOT, the language of Graphviz.
Arrows point from a session to its dependencies; roles are clusters. Running sessions are
not inspected.`,
		Example: `  agentform graph | dot -Tsvg > graph.svg
  agentform graph --json`,
		RunE: func(*cobra.Command, []string) error { return runGraph(a) },
	}
}

func runGraph(a *app) error {
	p, err := a.Manifest()
	if err != nil {
		return err
	}
	if a.JSON {
		return view.GraphJSON(a.Out, p.Manifest.Project, p.Manifest.Sessions)
	}
	return view.GraphDOT(a.Out, p.Manifest.Project, p.Manifest.Sessions)
}
