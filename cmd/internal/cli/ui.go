package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/ui"
	"github.com/agentform/agentform/cmd/internal/view"
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

// uiBackend observes the project and runs commands for ui.
type uiBackend struct {
	*watch.Live
	app   *app
	color bool
}

// quiet returns an app of the same project that prints nothing.
func (b *uiBackend) quiet() *app {
	s := *b.app.Streams
	s.Out, s.Err = io.Discard, io.Discard
	a := *b.app
	a.Opener = b.app.Anew(&s)
	return &a
}

// load returns what a tab shows.
func (b *uiBackend) load(ctx context.Context, l ui.Load) (string, error) {
	style := &view.Style{Color: b.color, Width: l.Width}
	switch address := string(l.Address); l.Tab {
	case ui.Screen:
		return b.Screen(ctx, l.Address, uiLines)
	case ui.Diff:
		return b.run(ctx, style, "diff", "--no-pager", address)
	case ui.Log:
		return b.run(ctx, style, "logs", "--tail", fmt.Sprint(uiLines), address)
	case ui.Events:
		var text strings.Builder
		events := b.Events(l.Address)
		err := view.SessionEvents(&text, *style, events[max(0, len(events)-uiLines):], time.Now())
		return text.String(), err
	default:
		return b.run(ctx, style, "plan")
	}
}

// uiLines is how far back a tab shows a screen, log or history.
const uiLines = 300

func (b *uiBackend) do(ctx context.Context, d ui.Do) (string, error) {
	return b.run(ctx, nil, d.Args...)
}

// run runs a command in this process and returns what it prints. An error that it has
// printed is returned as that text.
func (b *uiBackend) run(ctx context.Context, style *view.Style, args ...string) (string, error) {
	var out, errOut bytes.Buffer
	a := newApp(Env{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Style: style, Args: b.args(args, true),
		Environ: b.app.Environ, Dir: b.app.Dir, Version: b.app.Version, Runtimes: b.app.Runtimes,
	})
	defer a.Close()
	err := a.execute(ctx)
	var said exit.Code
	if errors.As(err, &said) && out.Len() == 0 {
		return "", errors.New(strings.TrimSpace(errOut.String()))
	} else if errors.As(err, &said) {
		err = nil // what it prints says it
	}
	if out.Len() == 0 {
		return errOut.String(), err
	}
	return out.String(), err
}

// args returns a command line with the global flags of this one.
func (b *uiBackend) args(args []string, sensitive bool) []string {
	all := b.app.Flags()
	if b.app.NoColor {
		all = append(all, "--no-color")
	}
	return slices.Concat(all, b.app.VarFlags(sensitive), args)
}

// terminal returns a process of its own, which Ctrl-C can end. Others see its command line.
func (b *uiBackend) terminal(t ui.Terminal) *exec.Cmd {
	a := b.app
	c := exec.Command(os.Args[0], b.args(t.Args, false)...)
	if self, err := os.Executable(); err == nil {
		c.Path, c.Err = self, nil
	}
	c.Dir, c.Env = a.TypedIn, slices.Clone(a.Environ)
	for _, v := range a.SensitiveVars() {
		c.Env = append(c.Env, "AGENTFORM_VAR_"+v.Name+"="+v.Value)
	}
	return c
}
