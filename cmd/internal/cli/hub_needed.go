package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// hubNeeds returns what of the project only a hub carries out: what the manifest
// declares, and starts that wait.
func hubNeeds(p *project.Project, waits bool) []string {
	needs := slices.Clone(p.Manifest.NeedsHub)
	if waits {
		needs = append(needs, "held sessions")
	}
	return needs
}

// reportNoHub says in one line, to people, what needs the hub while none runs.
func reportNoHub(a *app, p *project.Project, waits bool) {
	needs := hubNeeds(p, waits)
	if a.globals.json || len(needs) == 0 {
		return
	}
	h, runs := hub.Running(p.Manifest.DataDir)
	if runs && !hub.Suspended(h) {
		return
	}
	list, verb := needs[0], "needs"
	if last := len(needs) - 1; last > 0 {
		list, verb = strings.Join(needs[:last], ", ")+" and "+needs[last], "need"
	}
	if needs[len(needs)-1] == "held sessions" {
		verb = "need"
	}
	how := "which is not running: agentform serve --detach"
	if runs {
		how = "and " + hub.Continue(h)
	}
	fmt.Fprintf(a.env.Stderr, "\n%s %s the hub, %s\n", list, verb, how)
}

// waitsInPlan reports whether a plan holds starts that the hub makes when it can.
func waitsInPlan(p plan.Plan) bool { return slices.ContainsFunc(p.Changes, plan.Change.Waits) }

// toQueue reports whether a plan has starts that wait and are not on record yet.
func toQueue(p plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c plan.Change) bool { return c.Queues() && !c.Queued() })
}

// waitsOnRecord reports whether a start that was approved waits.
func waitsOnRecord(p *project.Project) bool {
	s, err := state.Read(p.State)
	return err == nil && slices.ContainsFunc(s.Sessions, func(r session.Record) bool { return r.Intent == session.Queued })
}

// autoHub starts the hub for a manifest that says hub = "auto", unless one runs. That
// it cannot is said: what was applied stays.
func autoHub(ctx context.Context, a *app, p *project.Project) {
	if _, runs := hub.Running(p.Manifest.DataDir); runs || !p.Manifest.HubAuto {
		return
	}
	var w io.Writer = a.env.Stderr
	if a.globals.json {
		w = io.Discard
	}
	err := detach(ctx, a, p, serveOptions{}, w)
	var taken *hub.TakenError // by another apply, at the same moment
	if err != nil && !errors.As(err, &taken) {
		fmt.Fprintf(a.env.Stderr, "Warning: the hub could not be started: %v\n", err)
	}
}
