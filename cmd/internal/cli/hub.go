package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/agentform/agentform/cmd/internal/action/reconcile"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/hub"
)

// reportHub says what keeps the hub from doing what the manifest declares, or what else needs it.
func reportHub(a *app, p *project.Project, also []string) {
	if a.JSON {
		return
	}
	if lack := reconcile.HubLacks(p, also); lack != "" {
		a.Say("\n" + lack)
	}
}

// autoHub starts the hub of a manifest with hub = "auto".
func autoHub(ctx context.Context, a *app, p *project.Project) {
	if _, runs := hub.Running(p.Manifest.DataDir); runs || !p.Manifest.HubAuto {
		return
	}
	var w io.Writer = a.Err
	if a.JSON {
		w = io.Discard
	}
	err := detach(ctx, a, p, serveOptions{}, w)
	var taken *hub.TakenError // by another apply, at the same moment
	if err != nil && !errors.As(err, &taken) {
		fmt.Fprintf(a.Err, "Warning: the hub could not be started: %v\n", err)
	}
}
