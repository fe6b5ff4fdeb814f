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
		Short:   "Show every session: what is wanted, what is there, what the agent does",
		Long: `Shows every session that is wanted or on record as it is now, last how many there are
in each state; with ADDR only that one, or the instances of that block. What is wrong
is shown, and makes no exit code: that is for plan --detailed-exitcode. A session whose
workspace is on another branch than the declared one is shown as "wrong branch".

In a project that a hub has supervised (agentform serve) it begins with whether one does
now, and says of each session whose agent is gone what the hub does about it.`,
		Example: `  agentform status
  agentform status worker
  agentform ps --json`,
		Args:              arguments(0, 1),
		Annotations:       withJSON(),
		ValidArgsFunction: completeAddresses(a, 1),
		RunE:              func(c *cobra.Command, args []string) error { return runStatus(c.Context(), a, args) },
	}
}

func runStatus(ctx context.Context, a *app, typed []string) error {
	s, err := observe(ctx, a)
	if err != nil {
		return err
	}
	shown := s.sessions
	if len(typed) > 0 {
		meant, err := resolveAll(s.addresses(), typed)
		if err != nil {
			return err
		}
		shown = nil
		for _, address := range meant {
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
	reportNoHub(a, s.project, waitsOnRecord(s.project))
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
