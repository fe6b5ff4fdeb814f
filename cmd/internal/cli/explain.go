package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/explain"
	"github.com/agentform/agentform/internal/wire"
)

func explainCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [PATH]",
		Short: "Explain the blocks and attributes of manifests",
		Long: `Prints what a block or an attribute of the manifest means, with its type, its default, what
each of its values means, and an example. PATH leads there from the top: session.restart.backoff. Without PATH it lists the
blocks, and the functions of expressions. It needs no project.`,
		Example: `  agentform explain
  agentform explain session.restart.backoff
  agentform explain runtime.docker.memory
  agentform explain session --json`,
		Args:              cobra.ArbitraryArgs, // Find names the path for words with blanks between them
		ValidArgsFunction: completePaths,
		RunE:              func(_ *cobra.Command, args []string) error { return runExplain(a, args) },
	}
}

func runExplain(a *app, args []string) error {
	s := explain.Read()
	if len(args) == 0 {
		if a.JSON {
			return wire.Write(a.Out, wire.Object{"format_version", "1.0", "blocks", s.Blocks, "functions", s.Functions, "references", s.References})
		}
		printHelp(a, s.Overview(helpWidth(a)))
		return nil
	}
	t, err := s.Find(strings.TrimSuffix(strings.Join(args, " "), "."))
	switch {
	case err != nil:
		return err
	case !a.JSON:
		printHelp(a, t.Text(helpWidth(a)))
		return nil
	case t.Attribute != nil:
		return wire.Write(a.Out, wire.Object{"format_version", "1.0", "path", t.Path, "attribute", t.Attribute})
	}
	return wire.Write(a.Out, wire.Object{"format_version", "1.0", "path", t.Path, "block", t.Blocks[len(t.Blocks)-1]})
}

func completePaths(_ *cobra.Command, args []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, t := range explain.Read().Complete(typed) {
		found = append(found, cobra.CompletionWithDesc(t.Path, t.Title()))
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
