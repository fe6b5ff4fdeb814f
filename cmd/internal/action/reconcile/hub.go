package reconcile

import (
	"fmt"
	"slices"

	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/hub"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

const (
	heldSessions = "held sessions"
	finishWord   = "finish"
)

// hubNeeds returns the reasons for a hub other than the manifest's: held sessions, and sessions
// that end when they are done.
func hubNeeds(held, ending bool) (needs []string) {
	if ending {
		needs = append(needs, finishWord)
	}
	if held {
		needs = append(needs, heldSessions)
	}
	return needs
}

// HubNeeds returns the reasons for a hub that recorded sessions have.
func HubNeeds(all []session.Record) []string {
	return hubNeeds(
		slices.ContainsFunc(all, func(r session.Record) bool { return r.Intent == session.Queued || r.OverBudget != nil }),
		slices.ContainsFunc(all, func(r session.Record) bool {
			return r.Spec.Finish != session.FinishNever && r.Finished == nil && !r.Spent() && plan.Desired(r) == session.Running
		}))
}

// HubLacks returns why the hub does not do what the manifest declares, or also: it is not running,
// it is suspended, or it was started with other settings. Empty: nothing.
func HubLacks(p *project.Project, also []string) string {
	needs := slices.Concat(p.Manifest.NeedsHub, also)
	h, runs := hub.Running(p.Manifest.DataDir)
	if runs && !hub.Suspended(h) {
		if !p.SettingsOnly && !session.HasErrors(p.Problems) && hub.Settings(p.Manifest.DataDir) != project.HubSettings(p.Manifest) {
			return "The hub was started with other settings (notify, max_running, prices, budgets, telemetry). Restart it: agentform serve --stop && agentform serve --detach"
		}
		return ""
	}
	if len(needs) == 0 {
		return ""
	}
	list, verb := plaintext.List(needs, "and"), "needs"
	if len(needs) > 1 || needs[0] == heldSessions {
		verb = "need"
	}
	how := "which is not running: agentform serve --detach"
	if runs {
		how = "and " + hub.Continue(h)
	}
	if slices.Contains(needs, finishWord) {
		how += ", or agentform apply --wait"
	}
	return fmt.Sprintf("%s %s the hub, %s", list, verb, how)
}
