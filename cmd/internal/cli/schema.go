package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/config"
)

func schemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the manifest's schema for editors",
		Long: `Prints the manifest language as JSON: a JSON Schema of the JSON syntax, by which
editors complete and check *.agentform.json, and in it, under "x-agentform", the
blocks and attributes of the native syntax with their types, defaults and
descriptions. It needs no project. docs/manifest.md says how to give it to an editor.`,
		Example:     `  agentform schema > .vscode/agentform.schema.json`,
		Args:        arguments(0, 0),
		Annotations: withJSON(),
		RunE:        func(*cobra.Command, []string) error { return runSchema(a) },
	}
}

func runSchema(a *app) error {
	text, err := config.Schema()
	if err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	_, err = fmt.Fprintf(a.env.Stdout, "%s\n", text)
	return err
}
