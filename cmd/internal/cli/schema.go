package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/config"
)

func schemaCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of the manifest",
		Long: `Prints a JSON Schema of the manifest's JSON syntax, for completion and validation in editors.
In it, "x-agentform" describes the blocks and attributes of the native syntax. It needs no
project. See docs/manifest.md for the setup of editors.`,
		Example: `  agentform schema > .vscode/agentform.schema.json`,
		RunE: func(*cobra.Command, []string) error {
			text, err := config.Schema()
			if err == nil {
				_, err = fmt.Fprintf(a.Out, "%s\n", text)
			}
			return err
		},
	}
}
