package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/connect"
	"github.com/agentform/agentform/cmd/internal/action/scaffold"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/internal/plaintext"
)

// backendFlags adds the flags of init for a project that has a manifest.
func backendFlags(c *cobra.Command, o *connect.Options) {
	f := c.Flags()
	f.BoolVar(&o.Migrate, "migrate-state", false, "move the state to where the manifest now says")
	f.BoolVar(&o.Reconfigure, "reconfigure", false, "use what is where the manifest now says, and leave the state of before")
	f.BoolVar(&o.Force, "force-copy", false, "with --migrate-state: do not ask; with --reconfigure: use also a state that was moved elsewhere")
	f.StringArrayVar(&o.Config, "backend-config", nil, "a setting of the backend, `NAME=VALUE` (repeatable)")
	c.MarkFlagsMutuallyExclusive("migrate-state", "reconfigure")
}

// initBackend connects the project with the backend of its manifest. done is false if this
// does not concern a backend.
func initBackend(ctx context.Context, a *app, o connect.Options) (done bool, err error) {
	if scaffold.CheckNone(a.Dir, "") == nil && len(a.Files) == 0 {
		return false, nil
	}
	p := a.Open()
	x, err := connect.Of(p, o)
	if err != nil || x == nil {
		return err != nil, err
	}
	if a.Warn(p.Problems); x.Faulty() {
		return true, exit.Error
	}
	moved, err := x.Use(ctx, func(question string) error {
		return a.Confirm(question, a.Command+" --migrate-state --force-copy")
	})
	if faulty := (connect.SettingError{}); errors.As(err, &faulty) {
		return true, exit.Usage(a.Command, err)
	}
	if err != nil {
		return true, err
	}
	how := "The state is in"
	if moved.Copied {
		how = "The state is now in"
	}
	fmt.Fprintf(a.Out, "%s %s: %s.\n", how, moved.Place, plaintext.Count(moved.Sessions, "session"))
	if moved.LeftOut > 0 {
		fmt.Fprintf(a.Err, "left out: the records of %s on other machines\n", plaintext.Count(moved.LeftOut, "session"))
	}
	sayBackups(a, moved.Backups...)
	return true, nil
}
