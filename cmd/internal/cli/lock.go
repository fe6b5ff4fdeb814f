package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sharedstate"
	"github.com/agentform/agentform/state"
)

func stateLockCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "lock",
		Short:   "Show who has the lock of the state",
		Long:    "Shows who has the lock of the state: in its backend, or of the state file.",
		Example: "  agentform state lock",
		RunE:    func(c *cobra.Command, _ []string) error { return runStateLock(c.Context(), a) },
	}
}

func runStateLock(ctx context.Context, a *app) error {
	i, err := lockInfo(ctx, a)
	none := errors.Is(err, backend.ErrNone)
	switch {
	case err != nil && !none:
		return err
	case a.JSON && none:
		return view.LockJSON(a.Out, nil)
	case a.JSON:
		return view.LockJSON(a.Out, &i)
	case none:
		fmt.Fprintln(a.Out, "The state is not locked.")
	default:
		fmt.Fprintln(a.Out, sharedstate.Describe(i, time.Now()))
	}
	return nil
}

// lockInfo returns the holder of the lock. The error is backend.ErrNone if it is free.
func lockInfo(ctx context.Context, a *app) (backend.Info, error) {
	p := a.Open()
	if p.Stored.Shared() {
		c, err := p.Stored.Copy()
		if err != nil {
			return backend.Info{}, err
		}
		return c.Holder(ctx)
	}
	h, held := state.HeldBy(p.State)
	if !held {
		return backend.Info{}, backend.ErrNone
	}
	return backend.Info{ID: fmt.Sprintf("pid %d", h.PID), Path: p.State, Operation: h.Command, Who: h.User + "@" + h.Host, Created: h.Since}, nil
}

func forceUnlockCommand(a *app) *cobra.Command {
	force := false
	c := &cobra.Command{
		Use:   "force-unlock ID",
		Short: "Release the lock of a shared state",
		Long: `Releases the lock of the state in a backend, whose holder no longer runs. It shows the holder
and asks. A holder that still runs changes nothing after that: it stops before its next
write. ID is the one that agentform state lock shows.`,
		Example: `  agentform state lock
  agentform force-unlock 6f1c2a34-8f0e-4d0e-9c55-0f6d5a3c1b7a`,
		RunE: func(c *cobra.Command, args []string) error { return runForceUnlock(c.Context(), a, args[0], force) },
	}
	c.Flags().BoolVar(&force, "force", false, "do not ask")
	return c
}

func runForceUnlock(ctx context.Context, a *app, id string, force bool) error {
	p := a.Open()
	if !p.Stored.Shared() {
		return fmt.Errorf("the state is on this machine alone: the lock of %s ends with the process that has it, which agentform state lock shows", p.State)
	}
	c, err := p.Stored.Copy()
	if err != nil {
		return err
	}
	i, err := c.Holder(ctx)
	switch {
	case errors.Is(err, backend.ErrNone):
		return errors.New("the state is not locked: nothing to do")
	case err != nil:
		return err
	case i.ID != "" && i.ID != id:
		return fmt.Errorf("the state has another lock than %s\n%s", id, sharedstate.Describe(i, time.Now()))
	}
	i.ID = id
	fmt.Fprintln(a.Err, sharedstate.Describe(i, time.Now()))
	if !force {
		if err := a.Confirm("Release this lock? Do so only if that command no longer runs.", a.Command+" --force "+id); err != nil {
			return err
		}
	}
	if err := c.Backend.Unlock(ctx, i); err != nil {
		return fmt.Errorf("release the lock in %s: %w", c.Name, err)
	}
	fmt.Fprintln(a.Out, "The state is unlocked.")
	return nil
}

func stateReencryptCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reencrypt",
		Short: "Re-encrypt the shared state",
		Long: `Writes the state in the backend again, encrypted to the recipients that the manifest has now.
It reads a state that is not encrypted, too.`,
		Example: "  agentform state reencrypt",
		RunE:    func(c *cobra.Command, _ []string) error { return runStateReencrypt(c.Context(), a) },
	}
}

func runStateReencrypt(ctx context.Context, a *app) error {
	p := a.Open()
	if p.Manifest.Encryption == nil {
		return errors.New("the manifest has no encryption block")
	}
	p.Stored.AllowPlain = true
	c, err := p.Stored.Copy()
	if err != nil {
		return err
	}
	if err := c.Rewrite(ctx, sharedstate.Opening{Who: p.Who(), Wait: p.LockTimeout, Waiting: p.Waiting}); err != nil {
		return err
	}
	n := len(p.Manifest.Encryption.Recipients)
	fmt.Fprintf(a.Out, "The state in %s is encrypted to %s.\n", c.Name, plaintext.Count(n, "recipient"))
	return nil
}
