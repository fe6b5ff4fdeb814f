package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/internal/layout"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// operate changes the state by hand, under its lock, after a backup that is told.
// A change that wrote nothing leaves no backup.
func (a *app) operate(ctx context.Context, p *project, change func(*state.Store) error) (err error) {
	store, err := openState(ctx, a, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if p.manifest.OutputsDir != "" {
		store.MirrorTo(p.manifest.OutputsDir)
	}
	before := store.State().Serial
	backup, err := store.Backup()
	if err != nil {
		return err
	}
	err = change(store)
	switch {
	case backup == "":
	case store.State().Serial == before: // nothing was written: there is nothing to go back from
		err = errors.Join(err, os.Remove(backup))
	default:
		fmt.Fprintf(a.env.Stderr, "The state as it was: %s\n", backup)
	}
	return err
}

// openState locks and opens the state of a project.
func openState(ctx context.Context, a *app, p *project) (*state.Store, error) {
	if err := p.check(state.State{}); err != nil { // before anything is written
		return nil, err
	}
	if err := layout.MakeDataDir(p.manifest.DataDir); err != nil {
		return nil, err
	}
	store, err := state.Open(ctx, p.state, p.manifest.Project, a.env.Version, a.who(), a.globals.lockTimeout, p.manifest.OutputsDir)
	if err != nil {
		return nil, err
	}
	if err := p.check(store.State()); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	store.OwnedBy(p.here())
	return store, nil
}

func (a *app) stateMvCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mv FROM TO",
		Short: "Give a session another address",
		Long: `Puts a session on record under another address, and touches nothing else: it runs on.
A block's address means all its instances. A moved block in the manifest does the same
for everybody who applies it.`,
		Example: `  agentform state mv api server
  agentform state mv api 'worker["api"]'
  agentform state mv worker builder`,
		Args:              arguments(2, 2),
		ValidArgsFunction: a.completeAddresses(1),
		RunE:              func(c *cobra.Command, args []string) error { return a.runStateMv(c.Context(), args[0], args[1]) },
	}
}

func (a *app) runStateMv(ctx context.Context, from, to string) error {
	p, s, err := a.recorded()
	if err != nil {
		return err
	}
	target, err := newAddress(to)
	if err != nil {
		return err
	}
	if _, err := resolve(addresses(nil, s.Sessions), from); err != nil {
		return err
	}
	return a.operate(ctx, p, func(store *state.Store) error {
		records := store.State().Sessions
		known := addresses(nil, records)
		meant, err := resolve(known, from)
		if err != nil {
			return err
		}
		moves, err := renamed(known, meant, target)
		if err != nil {
			return err
		}
		for _, old := range meant {
			r := *find(records, old)
			r.Address, r.Spec.Address = moves[old], moves[old]
			if err := store.Move(old, r); err != nil {
				return err
			}
			fmt.Fprintf(a.env.Stdout, "%s: now %s\n", old, r.Address)
		}
		return nil
	})
}

// renamed are the new addresses of the sessions that are meant: the target for one,
// the target's instances for the instances of a block.
func renamed(known, meant []session.Address, to session.Address) (map[session.Address]session.Address, error) {
	_, keyed := to.Key()
	moves := map[session.Address]session.Address{}
	for _, old := range meant {
		moves[old] = to
		if i := strings.IndexByte(string(old), '['); i >= 0 && len(meant) > 1 {
			if keyed {
				return nil, fmt.Errorf("%d sessions cannot all become %s: name one of them, or a block without a key:\n%s", len(meant), to, listed(meant))
			}
			moves[old] = to + old[i:]
		}
		if moves[old] == old {
			return nil, fmt.Errorf("%s is its address already: nothing to do", old)
		}
		if now := moves[old]; slices.Contains(known, now) {
			return nil, fmt.Errorf("%s cannot become %s: another session is on record there\nagentform state rm %s takes it off the record", old, now, quoted(now))
		}
	}
	return moves, nil
}

func (a *app) statePullCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "pull",
		Short:       "Print the whole state",
		Long:        "Prints the whole state as a state file has it, for a look or for a change that state push puts\nback.",
		Example:     "  agentform state pull >state.json",
		Args:        arguments(0, 0),
		Annotations: withJSON(),
		RunE:        func(*cobra.Command, []string) error { return a.runStatePull() },
	}
}

func (a *app) runStatePull() error {
	p := a.open()
	st, err := state.Read(p.state)
	if err != nil {
		return err
	}
	b, err := st.Encode()
	if err != nil {
		return fmt.Errorf("print state: %w", err)
	}
	_, err = a.env.Stdout.Write(b)
	return err
}

func (a *app) statePushCommand() *cobra.Command {
	force := false
	c := &cobra.Command{
		Use:   "push FILE",
		Short: "Put a changed state back",
		Long: `Puts the state in FILE, or on standard input with -, in place of the one that is there.
It has to be of the same lineage, and nobody may have written since it was pulled; --force
passes over both. Nothing live is touched.`,
		Example: `  agentform state pull >state.json
  agentform state push state.json`,
		Args: arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return a.runStatePush(c.Context(), args[0], force) },
	}
	c.Flags().BoolVar(&force, "force", false, "also one of another lineage, or an older one")
	return c
}

func (a *app) runStatePush(ctx context.Context, file string, force bool) error {
	p := a.open()
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(a.env.Stdin)
	} else {
		text, err = os.ReadFile(a.absolute(file))
	}
	if err != nil {
		return fmt.Errorf("read the state to push: %w", err)
	}
	given, err := state.Decode(text)
	if err != nil {
		return fmt.Errorf("%s cannot be pushed: %w", file, err)
	}
	if err := p.check(given); err != nil {
		return fmt.Errorf("%s cannot be pushed: %w", file, err)
	}
	return a.operate(ctx, p, func(store *state.Store) error {
		err := store.Push(given, force)
		if stale := (*state.StaleError)(nil); errors.As(err, &stale) {
			return fmt.Errorf("%s cannot be pushed: %w\n--force pushes it all the same", file, err)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(a.env.Stdout, "Pushed: %s on record, serial %d\n", counted(len(given.Sessions), "session"), store.State().Serial)
		return nil
	})
}
