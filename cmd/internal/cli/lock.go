package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/edit"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/sharedstate"
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
	i, err := edit.Holder(ctx, a.Open())
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
	l, err := edit.HeldBy(ctx, a.Open(), id)
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Err, l.String())
	if !force {
		if err := a.Confirm("Release this lock? Do so only if that command no longer runs.", a.Command+" --force "+id); err != nil {
			return err
		}
	}
	if err := l.Release(ctx); err != nil {
		return err
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
	name, err := edit.Reencrypt(ctx, p)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "The state in %s is encrypted to %s.\n", name, plaintext.Count(len(p.Manifest.Encryption.Recipients), "recipient"))
	return nil
}
