package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/action/usage"
	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
)

type statusOptions struct {
	short, wide, watch bool
	format             *string
}

func statusCommand(a *app) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:     "status [ADDR...]",
		Aliases: []string{"ps", "ls", "list"},
		Short:   "Show the status of all sessions",
		Long: `Shows all sessions in the manifest and the state, followed by totals; with ADDR only those
sessions, or the instances of those blocks. status always exits 0; use plan --detailed-exitcode
in scripts. STATUS is what a session is and does: working 3m, idle 16m, asks, exited (1),
limit until 14:00, queued 3rd. One whose workspace is not on the declared branch has
"wrong branch". Sessions that need attention come first, in the order of agentform next.

--wide adds state and activity, and the tokens and the list price of what each session used
(agentform usage), and cuts nothing. --short prints only the totals, for a status
line such as that of tmux. -o template=… is a Go template over the document of --json.

CHANGES is how far a workspace is from its merge base with the base of its branch: lines
added and removed, committed or not; ? untracked files; ↑ commits. See agentform diff.
BEHIND is how many commits it lacks: of the base, and of the same branch of origin as it was
last fetched. CONFLICTS names the base and the sessions whose work cannot be merged with it,
committed or not. These columns are there if a session has any, or with --wide.

Once a hub has run in the project (agentform serve), the first line shows whether it runs,
and exited sessions show the hub's next step.`,
		Example: `  agentform status
  agentform status worker --wide
  agentform status --watch
  agentform status -o template='{{range .sessions}}{{.name}} {{.branch}}{{"\n"}}{{end}}'
  tmux set -g status-right '#(agentform -C ~/shop status --short)'`,
		RunE: func(c *cobra.Command, args []string) error { return runStatus(c.Context(), a, args, o) },
	}
	c.Flags().BoolVar(&o.wide, "wide", false, "also show state and activity (the same as -o wide)")
	c.Flags().BoolVar(&o.short, "short", false, "print only the totals, for a status line: 2 asks · 3 working")
	c.Flags().BoolVar(&o.watch, "watch", false, "refresh until all sessions are done, as agentform watch does")
	o.format = outputFlag(a, c, "wide", "name")
	return c
}

// check refuses what would show the same in two ways.
func (o statusOptions) check(a *app) error {
	var given []string
	for _, x := range []struct {
		name string
		set  bool
	}{{"--short", o.short}, {"--json", a.JSON && *o.format == ""}, {"--output " + *o.format, *o.format != "" && *o.format != "wide"}} {
		if x.set {
			given = append(given, x.name)
		}
	}
	if o.watch && (o.short || *o.format != "" && *o.format != "wide" && *o.format != "json") {
		given = append(given, "--watch")
	} else if o.wide || *o.format == "wide" {
		given = append(given, "--wide")
	}
	if len(given) > 1 {
		return exit.Usage(a.Command, fmt.Errorf("%s exclude each other", plaintext.List(given, "and")))
	}
	return nil
}

func runStatus(ctx context.Context, a *app, typed []string, o statusOptions) error {
	if err := o.check(a); err != nil {
		return err
	}
	o.wide = o.wide || *o.format == "wide"
	if o.watch {
		return runWatch(ctx, a, typed, watchOptions{every: time.Second, wide: o.wide})
	}
	p, e, err := openObserver(a)
	if err != nil {
		return err
	}
	if !o.short && *o.format != "name" {
		e.Count()
	}
	if o.wide || a.JSON {
		usage.Ask(ctx, p, e)
	}
	s, err := e.Look(ctx)
	if err != nil {
		return err
	}
	a.Warn(reconcile.LostState(p, s.State.Serial))
	shown := s.Known
	if len(typed) > 0 {
		named, err := choose.All(declaredIn(p, s), typed)
		if err != nil {
			return err
		}
		shown = nil
		for _, address := range named {
			shown = append(shown, s.Of(address))
		}
	}
	sessions := make([]api.Session, len(shown))
	for i, k := range shown {
		sessions[i] = status.Of(k)
	}
	switch {
	case o.short:
		return view.Short(a.Out, sessions)
	case *o.format == "name":
		return view.Names(a.Out, sessions)
	case a.JSON:
		return wire.Write(a.Out, status.DocumentOf(sessions, s.Places, watch.Supervisor(s)))
	}
	if err := view.Hub(a.Out, watch.Supervisor(s), s.Holder, fileExists(filepath.Join(p.Manifest.DataDir, hub.LockFile)), len(status.Foreign(s.Known))); err != nil {
		return err
	}
	if err := view.Status(a.Out, a.OutStyle(), sessions, o.wide, time.Now()); err != nil {
		return err
	}
	a.Warn(s.Undrained)
	reportHub(a, p, reconcile.HubNeeds(s.State.Sessions))
	return nil
}
