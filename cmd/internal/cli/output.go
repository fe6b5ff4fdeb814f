package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/state"
)

func outputCommand(a *app) *cobra.Command {
	var lines int
	c := &cobra.Command{
		Use:   "output [NAME | ADDR]",
		Short: "Print output values",
		Long: `Prints the values of the manifest's output blocks, or of the one that is named: a string as
it is, for use in a shell. Sensitive outputs are shown only by name. If no output has that
name, the screen of the session with that address is printed, as capture does.`,
		Example: `  agentform output
  agentform output branches --json
  cd "$(agentform output workspace)"
  agentform output session.api --lines 20`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case lines < 1:
				return exit.Usage(c.CommandPath(), errors.New("--lines: must be 1 or more"))
			case len(args) == 0 && c.Flags().Changed("lines"):
				return exit.Usage(c.CommandPath(), errors.New("--lines is for a session: name one"))
			case len(args) == 0:
				return runOutputs(a)
			}
			return runOutput(c.Context(), a, args[0], lines)
		},
	}
	c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		found, directive := completeAddresses(a, 1)(c, args, typed)
		if len(args) > 0 {
			return found, directive
		}
		for _, o := range a.Open().Manifest.Outputs {
			if strings.HasPrefix(o.Name, typed) {
				found = append(found, cobra.CompletionWithDesc(o.Name, o.Description))
			}
		}
		return found, directive
	}
	c.Flags().IntVar(&lines, "lines", 100, "maximum number of lines of a session's screen")
	return c
}

func runOutputs(a *app) error {
	p, err := a.Manifest()
	if err != nil {
		return err
	}
	if a.JSON {
		return view.OutputsJSON(a.Out, p.Manifest.Outputs)
	}
	if len(p.Manifest.Outputs) == 0 {
		fmt.Fprintln(a.Err, "The manifest has no output blocks.")
		return nil
	}
	return view.Outputs(a.Out, a.OutStyle(), p.Manifest.Outputs)
}

func runOutput(ctx context.Context, a *app, typed string, lines int) error {
	p := a.Open()
	outputs := p.Manifest.Outputs
	if i := slices.IndexFunc(outputs, func(o config.Output) bool { return o.Name == typed }); i >= 0 {
		if _, err := a.Manifest(); err != nil { // tells its warnings
			return err
		}
		if a.JSON {
			return view.OutputJSON(a.Out, outputs[i])
		}
		return view.OutputValue(a.Out, outputs[i])
	}
	s, _ := state.Read(p.State) // unreadable: the manifest's addresses are left
	_, err := choose.Resolve(choose.Addresses(p.Manifest.Sessions, s.Sessions), typed)
	if args := named([]string{typed}); err == nil {
		return runCapture(ctx, a, &args, lines)
	}
	if _, err := a.Manifest(); err != nil {
		return err
	}
	var names []string
	for _, o := range outputs {
		names = append(names, o.Name)
	}
	if len(names) == 0 {
		return fmt.Errorf("no output %q: the manifest has no output blocks\nnor is it a session: %w", typed, err)
	}
	return fmt.Errorf("no output %q. Outputs: %s\nit is not a session either: %w", typed, strings.Join(names, ", "), err)
}
