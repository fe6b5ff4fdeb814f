package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/ui"
	"github.com/agentform/agentform/internal/fleet"
	"github.com/agentform/agentform/state"
)

func uiCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ui",
		Short: "Watch and control all sessions in the terminal",
		Long: `Shows all sessions, those that need attention first, and the screen, diff, log and events of
the selected one, or the plan. It refreshes automatically, with and without a hub.

  enter      attach; Ctrl-b d returns
  a          answer the question
  s          send text
  r x        restart, stop
  R          refresh its branch
  L          land its work, or that of all sessions
  d l e p    diff, log, events, plan; tab: the next of them; esc: screen
  j k g G    select; n: next that needs you
  PgUp PgDn  scroll; z: over the whole width
  /          filter
  :          any command; % is the selected session
  ?          all keys; q: quit

Agents keep running when you quit.`,
		Example: `  agentform ui
  agentform -C ~/src/shop ui
  ssh -t build.example.com agentform -C src/shop ui`,
		RunE: func(c *cobra.Command, _ []string) error { return runUI(c.Context(), a) },
	}
}

func runUI(ctx context.Context, a *app) error {
	in, isFile := a.In.(*os.File)
	out, isFile2 := a.Out.(*os.File)
	if !isFile || !isFile2 || !streams.IsTerminal(in) || !streams.IsTerminal(out) {
		return errors.New("ui needs a terminal\nagentform status shows all sessions, agentform watch --json follows them")
	}
	if t := a.Environ.Get("TERM"); t == "" || t == "dumb" {
		return fmt.Errorf("ui needs a terminal that can move its cursor, and TERM is %q\nagentform status shows all sessions", t)
	}
	p, e, err := openFleet(a)
	if err != nil {
		return err
	}
	first, err := watch.Recorded(p, e)
	if err != nil {
		return err
	}
	style := a.OutStyle()
	a.Log = slog.New(slog.DiscardHandler) // the terminal is taken
	b := &uiBackend{app: a, color: style.Color}
	b.Live = watch.NewLive(p, e, func() (*project.Project, *fleet.Observer, error) { return openFleet(b.quiet()) })
	err = ui.Run(ctx, ui.Backend{Look: b.Look, Heard: b.Heard, Load: b.load, Do: b.do, Terminal: b.terminal},
		ui.Options{In: in, Out: out, Color: style.Color, First: first})
	if errors.Is(err, ui.ErrInterrupted) {
		return exit.Interrupted
	}
	return err
}

// openFleet is openObserver, also of a directory with neither a manifest nor a state, where
// run starts a session.
func openFleet(a *app) (*project.Project, *fleet.Observer, error) {
	p := a.Open()
	if _, err := state.Read(p.State); errors.Is(err, state.ErrNone) && len(p.Manifest.Files) == 0 && len(p.Files) == 0 {
		return p, project.Fleet(p), nil
	}
	return openObserver(a)
}
