package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/action/landing"
	"github.com/agentform/agentform/cmd/internal/action/serve"
	"github.com/agentform/agentform/cmd/internal/action/workspace"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/cmd/internal/secret"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/state"
)

// gcPercent saves memory: the hub runs for months and need not be fast.
const gcPercent = 70

func runServe(ctx context.Context, a *app, o serveOptions) error {
	p, _, err := a.State()
	if err != nil {
		return err
	}
	a.Warn(p.Problems) // the sessions in the state are supervised all the same
	log := a.Log
	if o.logFile != "" {
		w, err := serve.LogFile(a.Absolute(o.logFile))
		if err != nil {
			return err
		}
		defer w.Close()
		log = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: a.level}))
	}
	a.Log, p.Log = log, log
	ctx, stop := streams.UntilInterrupted(ctx)
	defer stop()
	project.SetCloseOnExec()
	if a.Environ.Get("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}

	in := serve.Input{
		Project: p, Version: a.Version, Listen: o.listen, Remote: o.remote, ReadOnly: o.readOnly, Elect: o.elect, Advertise: o.advertise,
		Diff: workspace.ForAPI(p), Land: landing.ForAPI(p, func() (state.State, error) { _, s, err := a.State(); return s, err }, a.Warn), Log: log,
	}
	if o.listen != "" {
		token := tokenOf(a, p, o)
		in.Token = token.Get
		in.Linked = func(l api.Link) {
			if token.Made() && !o.vars { // else the command that started this process prints it
				printLink(a.Out, l)
			}
		}
	}
	return serve.Run(ctx, in)
}

// tokenOf returns where the token of --listen comes from.
func tokenOf(a *app, p *project.Project, o serveOptions) serve.Token {
	t := serve.Token{Given: a.Environ.Get(secret.TokenVariable), Variable: secret.TokenVariable, DataDir: p.Manifest.DataDir}
	if o.tokenFile != "" {
		t.File = a.Absolute(o.tokenFile)
	}
	return t
}

func printLink(w io.Writer, l api.Link) {
	fmt.Fprintf(w, "Open the page (this link works once, for 10 minutes; agentform open prints another):\n  %s\n", l.URL)
}
