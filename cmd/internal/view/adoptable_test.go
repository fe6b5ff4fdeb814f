package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/cmd/internal/discover"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func TestAdoptable(t *testing.T) {
	at := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	found := discover.Found{
		Sessions: []discover.Session{
			{ID: "tmux:default/api", Socket: "default", Name: "api", Pane: "%0", Agent: "claude", Workspace: "/src/shop-api", Branch: "agents/api", IdleSince: at.Add(-3 * time.Minute)},
			{ID: "tmux:default/notes", Socket: "default", Name: "notes", Pane: "%2", Agent: "codex", Workspace: "/home/you/notes", IdleSince: at.Add(-2 * time.Hour)},
			{ID: "tmux:mine/edit", Socket: "mine", Name: "edit", Pane: "%4", Agent: "claude", Workspace: "/src/shop", Branch: "main", IdleSince: at.Add(-12 * time.Second),
				Problem: "one of 3 panes: it needs a tmux session of its own", Remedy: "tmux -L mine new-session -d -s edit-4 ';' swap-pane -d -s %4 -t edit-4:"},
		},
		Unasked: []discover.Unasked{{Socket: "old", Problem: "no answer within 5s: it may be suspended"}},
	}
	addresses := map[string]session.Address{"tmux:default/api": "session.api", "tmux:default/notes": "session.notes"}
	styles(t, "adoptable", true, func(w io.Writer, s Style) error { return Adoptable(w, s, found, addresses, 1, at) })
	golden(t, "adoptable.json", func(w io.Writer) error { return AdoptableJSON(w, found, addresses) })
	var b bytes.Buffer
	if err := Adoptable(&b, Style{}, discover.Found{}, nil, 0, at); err != nil || !strings.Contains(b.String(), "No unmanaged agent runs in your tmux servers") {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestUndeclared(t *testing.T) {
	record := &session.Record{}
	run := plan.Change{Before: record, Action: plan.None}
	gone := plan.Change{Before: record, Action: plan.Delete}
	declared := plan.Change{Before: record, After: &session.Spec{}, Action: plan.None}
	how := " in the manifest%s. To declare them: agentform plan --generate-config-out=FILE"
	for want, p := range map[string]plan.Plan{
		"1 session is in the state and not" + fmt.Sprintf(how, ""):                                   {Changes: []plan.Change{run, declared}},
		"3 sessions are in the state and not" + fmt.Sprintf(how, ", 1 of them to destroy or forget"): {Changes: []plan.Change{run, run, gone}},
		"": {Changes: []plan.Change{gone, declared}},
	} {
		if got := undeclared(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := undeclared(plan.Plan{Changes: []plan.Change{run}, Options: plan.Options{Destroy: true}}); got != "" {
		t.Errorf("of destroy: %q", got)
	}
}
