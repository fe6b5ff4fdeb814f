package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/rebuild"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
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

// notElsewhere refuses to change the record of a session that another machine has.
func notElsewhere(p *project.Project, records []session.Record, named []session.Address, remedy string) error {
	var errs []error
	for _, address := range named {
		r := project.Find(records, address)
		if p.Stored.Shared() && !sharedstate.Mine(*r, p.Owner()) {
			errs = append(errs, fmt.Errorf("%s is on %s: %s", address, r.Owner.Host, remedy))
		}
	}
	return errors.Join(errs...)
}

func runStateRm(ctx context.Context, a *app, typed []string, force bool) error {
	p, s, err := a.State()
	if err != nil {
		return err
	}
	if _, err := choose.All(choose.Addresses(nil, s.Sessions), typed); err != nil {
		return err
	}
	err = changeState(ctx, p, a.Err, func(store *state.Store) error {
		named, err := choose.All(choose.Addresses(nil, store.State().Sessions), typed)
		if err != nil {
			return err
		}
		if !force {
			if err := notElsewhere(p, store.State().Sessions, named, "remove it there, or, if that machine is gone, with --force"); err != nil {
				return err
			}
		}
		for _, address := range named {
			if err := store.Delete(address); err != nil {
				return fmt.Errorf("forget %s: %w", address, err)
			}
			fmt.Fprintf(a.Out, "%s: removed from the state\n", address)
		}
		return nil
	})
	if err == nil {
		fmt.Fprintln(a.Err, "Running sessions were not touched: apply adopts those in the manifest, doctor lists the others.")
	}
	return err
}

// changeState leaves no backup of a change that wrote nothing.
func changeState(ctx context.Context, p *project.Project, stderr io.Writer, change func(*state.Store) error) (err error) {
	store, err := p.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if p.Manifest.OutputsDir != "" {
		store.MirrorTo(p.Manifest.OutputsDir)
	}
	before := store.State().Serial
	backup, err := store.Backup()
	if err != nil {
		return err
	}
	err = change(store)
	switch {
	case backup == "":
	case store.State().Serial == before:
		err = errors.Join(err, os.Remove(backup))
	default:
		fmt.Fprintf(stderr, "Backup: %s\n", backup)
	}
	return err
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
	target, err := choose.New(to)
	if err != nil {
		return err
	}
	if _, err := choose.Resolve(choose.Addresses(nil, s.Sessions), from); err != nil {
		return err
	}
	return changeState(ctx, p, a.Err, func(store *state.Store) error {
		records := store.State().Sessions
		known := choose.Addresses(nil, records)
		named, err := choose.Resolve(known, from)
		if err != nil {
			return err
		}
		moves, err := renamed(known, named, target)
		if err != nil {
			return err
		}
		if err := notElsewhere(p, records, named, "move it there"); err != nil {
			return err
		}
		for _, old := range named {
			r := *project.Find(records, old)
			r.Address, r.Spec.Address = moves[old], moves[old]
			if err := store.Move(old, r); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%s: now %s\n", old, r.Address)
		}
		return nil
	})
}

func renamed(known, named []session.Address, to session.Address) (map[session.Address]session.Address, error) {
	_, keyed := to.Key()
	moves := map[session.Address]session.Address{}
	for _, old := range named {
		moves[old] = to
		if i := strings.IndexByte(string(old), '['); i >= 0 && len(named) > 1 {
			if keyed {
				return nil, fmt.Errorf("%d sessions cannot all become %s: give one of them, or a block without a key:\n%s", len(named), to, choose.List(named))
			}
			moves[old] = to + old[i:]
		}
		if moves[old] == old {
			return nil, fmt.Errorf("%s is already its address: nothing to do", old)
		}
		if now := moves[old]; slices.Contains(known, now) {
			return nil, fmt.Errorf("%s cannot become %s: another session has that address\nagentform state rm %s removes it from the state", old, now, target.Quoted(now))
		}
	}
	return moves, nil
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
	st, err := state.Read(p.State)
	if err != nil {
		return err
	}
	b, err := st.Encode()
	if err != nil {
		return fmt.Errorf("print state: %w", err)
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
	p := a.Open()
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
	given, err := state.Decode(text)
	if err != nil {
		return fmt.Errorf("%s cannot be pushed: %w", file, err)
	}
	if err := p.Check(given); err != nil {
		return fmt.Errorf("%s cannot be pushed: %w", file, err)
	}
	p.Anew = force
	return changeState(ctx, p, a.Err, func(store *state.Store) error {
		err := store.Push(given, force)
		if handleStale := (*state.StaleError)(nil); errors.As(err, &handleStale) {
			return fmt.Errorf("%s cannot be pushed: %w\n--force pushes it anyway", file, err)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "Pushed: %s in the state, serial %d\n", plaintext.Count(len(given.Sessions), "session"), store.State().Serial)
		return nil
	})
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
	p := a.Open()
	x, err := rebuild.Find(ctx, rebuild.Input{
		Manifest: p.Manifest, State: p.State, Version: a.Version, Owner: p.Owner(), By: p.Who().User,
		Runtime: p.Reconciler(project.ToRead).Opened, Facts: p.Facts, Launched: p.Launched,
	})
	if err != nil {
		return err
	}
	if err := p.Check(x.State); err != nil {
		return err
	}
	for _, address := range slices.SortedFunc(maps.Keys(x.Added), session.Address.Compare) {
		fmt.Fprintln(a.Out, plaintext.Safe(x.Added[address]))
	}
	for _, l := range x.LeftOut {
		fmt.Fprintln(a.Err, "left out: "+plaintext.Safe(l))
	}
	dir, sessions := rebuild.OutputsDir(p.Manifest), plaintext.Count(len(x.State.Sessions), "session")
	switch {
	case x.Sound && len(x.Added) == 0:
		fmt.Fprintf(a.Out, "The state is complete: %s, and nothing else was found.\n", sessions)
		return nil
	case len(x.Added) == 0 && x.None:
		return fmt.Errorf("nothing to rebuild a state from: there is none at %s, no session left a record in %s, and none runs", p.State, dir)
	case len(x.Added) == 0:
		return fmt.Errorf("nothing to rebuild the state from: no session left a record in %s, and none runs; to start over, move away what is there: mv %s %[2]s.broken", dir, p.State)
	}
	if !approved {
		question := fmt.Sprintf("Write a state with %s (lineage %s)?", sessions, x.State.Lineage)
		if err := a.Confirm(question, a.Command+" --auto-approve"); err != nil {
			return err
		}
	}
	if err := x.RestoreRuns(p.Manifest); err != nil {
		return err
	}
	backups, err := state.Rebuild(ctx, p.State, x.State, x.Sum, p.Who(), a.LockTimeout)
	for _, b := range backups {
		fmt.Fprintf(a.Err, "Backup: %s\n", b)
	}
	if err != nil {
		return err
	}
	if p.Stored.Shared() {
		store, err := p.Lock(ctx) // closing it sends what was rebuilt
		if err != nil {
			return err
		}
		if err := store.Close(); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.Out, "Rebuilt the state: %s. Running sessions were not touched. Check it with: agentform plan\n", sessions)
	return nil
}
