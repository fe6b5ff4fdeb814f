package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/cmd/internal/action/watch"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/ui"
	"github.com/agentform/agentform/cmd/internal/view"
)

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
