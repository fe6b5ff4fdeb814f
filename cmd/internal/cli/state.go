package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/edit"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/plaintext"
)

func stateCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "state",
		Short: "Inspect and edit the state",
		Long: `Inspects and edits the state file, without inspecting running sessions. A backup is written
before every change.`,
		Example: `  agentform state list
  agentform state show api --json
  agentform state mv api server
  agentform state rm api`,
		Args: subcommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(stateListCommand(a), stateShowCommand(a), stateMvCommand(a), stateRmCommand(a), statePullCommand(a), statePushCommand(a), stateRebuildCommand(a), stateLockCommand(a), stateReencryptCommand(a))
	return c
}

func stateListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list [ADDR]...",
		Short:   "List the sessions in the state",
		Long:    "Lists the addresses of the sessions in the state, one a line: all, or those that ADDR names.",
		Example: "  agentform state list worker",
		RunE:    func(_ *cobra.Command, args []string) error { return runStateList(a, args) },
	}
}

func runStateList(a *app, typed []string) error {
	_, s, err := a.State()
	if err != nil {
		return err
	}
	records := s.Sessions
	if len(typed) > 0 {
		named, err := choose.All(choose.Addresses(nil, s.Sessions), typed)
		if err != nil {
			return err
		}
		records = nil
		for _, address := range named {
			records = append(records, *project.Find(s.Sessions, address))
		}
	}
	if a.JSON {
		return view.StateListJSON(a.Out, s, records)
	}
	return view.StateList(a.Out, records)
}

func stateShowCommand(a *app) *cobra.Command {
	hcl := false
	c := &cobra.Command{
		Use:   "show ADDR",
		Short: "Show one session's state",
		Long: `Shows the record of one session, a field a line. With --hcl it prints the session block
that declares it, formatted as fmt does, with the agent and runtime blocks that the
manifest lacks. Once that is in the manifest, plan has no changes for it.`,
		Example: `  agentform state show api --json
  agentform state show api --hcl >>agentform.hcl`,
		RunE: func(_ *cobra.Command, args []string) error { return runStateShow(a, args[0], hcl) },
	}
	c.Flags().BoolVar(&hcl, "hcl", false, "print the session block for a manifest")
	return c
}

func runStateShow(a *app, typed string, hcl bool) error {
	if hcl && a.JSON {
		return exit.Usage(a.Command, errors.New("--hcl and --json exclude each other"))
	}
	p, s, err := a.State()
	if err != nil {
		return err
	}
	address, err := choose.One(choose.Addresses(nil, s.Sessions), typed)
	if err != nil {
		return err
	}
	if hcl {
		made := generateBlocks(a, p, config.Draft{Spec: project.Find(s.Sessions, address).Spec})
		_, err := a.Out.Write(made.Text)
		return err
	}
	if a.JSON {
		return view.StateShowJSON(a.Out, *project.Find(s.Sessions, address))
	}
	return view.StateShow(a.Out, a.OutStyle(), *project.Find(s.Sessions, address))
}

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
	for _, address := range done.Removed {
		fmt.Fprintf(a.Out, "%s: removed from the state\n", address)
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

func stateRebuildCommand(a *app) *cobra.Command {
	approved := false
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild a lost or damaged state",
		Long: `Rebuilds the state from what the sessions left: the copies of their records, the marks of
running tmux sessions and containers, and the directories of their runs. Stopped and paused
sessions stay so, sessions of agentform run are kept, and so is the lineage. It shows what
it found, asks, and backs up what is there. Running sessions are not touched. To a valid
state it only adds what is missing.`,
		Example: `  agentform state rebuild
  agentform state rebuild --auto-approve`,
		RunE: func(c *cobra.Command, _ []string) error { return runStateRebuild(c.Context(), a, approved) },
	}
	c.Flags().BoolVar(&approved, "auto-approve", false, "skip the confirmation")
	return c
}

func runStateRebuild(ctx context.Context, a *app, approved bool) error {
	x, err := edit.Lost(ctx, a.Open())
	if err != nil {
		return err
	}
	for _, line := range x.Lines() {
		fmt.Fprintln(a.Out, plaintext.Safe(line))
	}
	for _, l := range x.LeftOut {
		fmt.Fprintln(a.Err, "left out: "+plaintext.Safe(l))
	}
	sessions := plaintext.Count(len(x.State.Sessions), "session")
	switch needed, err := x.Needed(); {
	case err != nil:
		return err
	case !needed:
		fmt.Fprintf(a.Out, "The state is complete: %s, and nothing else was found.\n", sessions)
		return nil
	}
	if !approved {
		question := fmt.Sprintf("Write a state with %s (lineage %s)?", sessions, x.State.Lineage)
		if err := a.Confirm(question, a.Command+" --auto-approve"); err != nil {
			return err
		}
	}
	backups, err := x.Write(ctx)
	sayBackups(a, backups...)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "Rebuilt the state: %s. Running sessions were not touched. Check it with: agentform plan\n", sessions)
	return nil
}
