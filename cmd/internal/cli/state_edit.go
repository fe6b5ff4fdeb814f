package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/edit"
	"github.com/agentform/agentform/internal/plaintext"
)

func stateRmCommand(a *app) *cobra.Command {
	force := false
	c := &cobra.Command{
		Use:   "rm ADDR...",
		Short: "Remove sessions from the state without stopping them",
		Long: `Removes sessions from the state. Running sessions keep running: a later apply adopts those
that are in the manifest, and doctor lists the others as orphans. A session of another machine
takes --force: an apply would start it here, too, while it may still run there.`,
		Example: "  agentform state rm api",
		RunE:    func(c *cobra.Command, args []string) error { return runStateRm(c.Context(), a, args, force) },
	}
	c.Flags().BoolVar(&force, "force", false, "also sessions of other machines, which must be gone")
	return c
}

func runStateRm(ctx context.Context, a *app, typed []string, force bool) error {
	p, s, err := a.State()
	if err != nil {
		return err
	}
	done, err := edit.Remove(ctx, p, s, typed, force)
	for _, x := range done.Removed {
		fmt.Fprintln(a.Out, strings.TrimSuffix(fmt.Sprintf("%s: removed from the state; it was %s", x.Address, x.Place), "; it was "))
	}
	sayBackups(a, done.Backup)
	if err == nil {
		fmt.Fprintln(a.Err, "Running sessions were not touched: apply adopts those in the manifest, doctor lists the others.")
	}
	return err
}

func sayBackups(a *app, files ...string) {
	for _, file := range files {
		if file != "" {
			fmt.Fprintf(a.Err, "Backup: %s\n", file)
		}
	}
}

func stateMvCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "mv FROM TO",
		Short: "Move a session to another address",
		Long: `Moves a session in the state to another address. The session keeps running. The address of a
block moves all its instances. A moved block in the manifest does the same for everyone who
applies it.`,
		Example: `  agentform state mv api server
  agentform state mv api 'worker["api"]'
  agentform state mv worker builder`,
		ValidArgsFunction: completeAddresses(a, 1),
		RunE:              func(c *cobra.Command, args []string) error { return runStateMv(c.Context(), a, args[0], args[1]) },
	}
}

func runStateMv(ctx context.Context, a *app, from, to string) error {
	p, s, err := a.State()
	if err != nil {
		return err
	}
	done, err := edit.Move(ctx, p, s, from, to)
	for _, m := range done.Moved {
		fmt.Fprintf(a.Out, "%s: now %s\n", m.From, m.To)
	}
	sayBackups(a, done.Backup)
	return err
}

func statePullCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "pull",
		Short:   "Print the state as JSON",
		Long:    "Prints the state as JSON, to inspect it or to edit it and push it back.",
		Example: "  agentform state pull >state.json",
		RunE:    func(*cobra.Command, []string) error { return runStatePull(a) },
	}
}

func runStatePull(a *app) error {
	p := a.Open()
	if err := a.Pull(p); err != nil {
		return err
	}
	b, err := edit.Text(p)
	if err != nil {
		return err
	}
	_, err = a.Out.Write(b)
	return err
}

func statePushCommand(a *app) *cobra.Command {
	force := false
	c := &cobra.Command{
		Use:   "push FILE",
		Short: "Replace the state from a file",
		Long: `Replaces the state with FILE, or with standard input (-). It must have the same lineage and
not be older than the current state; --force skips both checks. Running sessions are not
touched.`,
		Example: `  agentform state pull >state.json
  agentform state push state.json`,
		RunE: func(c *cobra.Command, args []string) error { return runStatePush(c.Context(), a, args[0], force) },
	}
	c.Flags().BoolVar(&force, "force", false, "skip the lineage and serial checks")
	return c
}

func runStatePush(ctx context.Context, a *app, file string, force bool) error {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(a.In)
	} else {
		text, err = os.ReadFile(a.Absolute(file))
	}
	if err != nil {
		return fmt.Errorf("read the state to push: %w", err)
	}
	done, err := edit.Push(ctx, a.Open(), text, file, force)
	if err == nil {
		fmt.Fprintf(a.Out, "Pushed: %s in the state, serial %d\n", plaintext.Count(done.Sessions, "session"), done.Serial)
	}
	sayBackups(a, done.Backup)
	return err
}
