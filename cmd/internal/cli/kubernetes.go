package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/kubernetes"
)

// elsewhereCommand executes a command in a session elsewhere: attach and exec run it.
func elsewhereCommand(use string, run func(ctx context.Context, args []string, in, out, said *os.File) int) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		Short:              "Run a command in a session elsewhere",
		Long:               `Runs a command in a session elsewhere, with the streams of this command. Run by agentform; use exec.`,
		Hidden:             true,
		Args:               cobra.ArbitraryArgs,
		DisableFlagParsing: true, // those of the command are its own
		RunE: func(c *cobra.Command, args []string) error {
			if code := run(c.Context(), args, os.Stdin, os.Stdout, os.Stderr); code != 0 {
				return exit.Code(code)
			}
			return nil
		},
	}
}

func runtimeCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:     "runtime",
		Short:   "Prepare a place for sessions",
		Long:    `Prepares a place for sessions.`,
		Example: `  agentform runtime role --namespace agents`,
		Args:    subcommand,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(runtimeRoleCommand(a))
	return c
}

func runtimeRoleCommand(a *app) *cobra.Command {
	var namespace, account string
	c := &cobra.Command{
		Use:   "role",
		Short: "Print the Role that agentform needs in a Kubernetes namespace",
		Long: `Prints the Role with all that agentform asks of a Kubernetes cluster, and its RoleBinding to a
service account, as YAML. All of it is in the namespace of the sessions.`,
		Example: `  agentform runtime role --namespace agents --account ci > role.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.Out, kubernetes.Role(namespace, account))
			return err
		},
	}
	c.Flags().StringVar(&namespace, "namespace", "default", "the `namespace` of the sessions")
	c.Flags().StringVar(&account, "account", "agentform", "the `name` of the service account")
	return c
}
