package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/status"
)

func statusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "status [ADDR]",
		Aliases: []string{"ps", "ls", "list"},
		Short:   "Show the status of all sessions",
		Long: `Shows all sessions in the manifest and the state, followed by totals; with ADDR only that
session, or the instances of that block. status always exits 0; use plan --detailed-exitcode
in scripts. A session whose workspace is not on the declared branch has "wrong branch".

Once a hub has run in the project (agentform serve), the first line shows whether it runs,
and exited sessions show the hub's next step.`,
		Example: `  agentform status
  agentform status worker
  agentform ps --json`,
		RunE: func(c *cobra.Command, args []string) error { return runStatus(c.Context(), a, args) },
	}
}

func runStatus(ctx context.Context, a *app, typed []string) error {
	s, err := observe(ctx, a)
	if err != nil {
		return err
	}
	shown := s.sessions
	if len(typed) > 0 {
		named, err := resolveAll(s.addresses(), typed)
		if err != nil {
			return err
		}
		shown = nil
		for _, address := range named {
			shown = append(shown, s.of(address))
		}
	}
	sessions := make([]api.Session, len(shown))
	for i, k := range shown {
		sessions[i] = status.Of(k)
	}
	if a.globals.json {
		return view.StatusJSON(a.env.Stdout, sessions, s.supervisor())
	}
	switch s.supervisor() {
	case api.HubSuspended:
		fmt.Fprintf(a.env.Stdout, "supervisor: suspended (pid %d)\n  %s\n\n", s.holder.PID, hub.Continue(s.holder))
	case api.HubRuns:
		fmt.Fprintf(a.env.Stdout, "supervisor: running (pid %d)\n\n", s.holder.PID)
	case api.HubDown:
		if fileExists(filepath.Join(s.project.Manifest.DataDir, hub.LockFile)) {
			fmt.Fprint(a.env.Stdout, "supervisor: down (agentform serve runs it)\n\n")
		}
	}
	if err := view.Status(a.env.Stdout, a.out(), sessions, time.Now()); err != nil {
		return err
	}
	reportNoHub(a, s.project, recordedHolds(s.project))
	return nil
}

func (s *snapshot) supervisor() api.Supervisor {
	switch {
	case !s.supervised:
		return api.HubDown
	case hub.Suspended(s.holder):
		return api.HubSuspended
	}
	return api.HubRuns
}
