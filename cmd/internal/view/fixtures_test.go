package view

import (
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/doctor"
	"github.com/agentform/agentform/health"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/conflicts"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

const data = "/home/ada/shop/.agentform"

func ago(d time.Duration) time.Time { return at.Add(-d) }

// spec returns a session as a manifest declares it.
func spec(a session.Address, branch string) session.Spec {
	return session.Spec{
		Address: a, Role: "builder", Desired: session.Running,
		Labels: map[string]string{"team": "shop"},
		Agent: session.AgentSpec{Name: "claude", Base: "claude", Command: []string{"claude"}, PromptVia: "argument",
			Observable: "at_first_prompt"},
		Prompt: session.PromptOf("Build the " + a.Block() + ".\nThen say so.\n"), Branch: branch,
		Workspace: session.Workspace{Mode: session.Worktree, Repo: "/home/ada/shop", OnDestroy: session.Keep,
			Path: data + "/workspaces/" + a.Slug() + "/" + session.Slug(branch)},
		Runtime: session.RuntimeSpec{Kind: "tmux"},
		Restart: session.Restart{Policy: "on-failure", Resume: true, Attempts: 5, Window: session.Duration(15 * time.Minute)},
		Stop:    session.Stop{Signal: "SIGTERM", Grace: session.Duration(10 * time.Second)},
	}
}

// record returns the record of a session after its second start.
func record(a session.Address, branch string) *session.Record {
	s := spec(a, branch)
	return &session.Record{
		ID: a.Slug() + "-1f2e3d4c", Address: a, Origin: session.FromManifest, Spec: s,
		Location: session.Location{Runtime: "tmux", Socket: "/run/user/1000/agentform/0a1b2c3d/tmux-0", Name: a.OutsideName("shop"), Pane: "%4"},
		Run: session.Run{ID: "00112233445566aa", Number: 2, StartedAt: ago(125 * time.Minute), BootID: "b0",
			Agent: session.Process{PID: 4242, Start: 990}, PromptSHA: s.Prompt.Digest, DeliveredAt: ago(124 * time.Minute),
			Conversation: "6d1f0a52-8d0e-4f7e-9c58-1b2a3c4d5e6f"},
		Tree:      session.WorkspaceState{Path: s.Workspace.Path, Mode: s.Workspace.Mode, Repo: s.Workspace.Repo, Branch: branch, Created: true, Made: true, Ready: true},
		CreatedAt: ago(26 * time.Hour), UpdatedAt: ago(125 * time.Minute),
	}
}

func wanted(s session.Spec) *session.Spec { return &s }

// samplePlan has every action, fields of every kind, drift and errors.
func samplePlan() plan.Plan {
	api, db, docs := session.Single("api"), session.Single("db"), session.Single("docs")
	web, cli := session.Keyed("worker", "web"), session.Keyed("worker", "cli tools")
	long := session.PromptOf("Write the documentation.\n")
	docsAfter := spec(docs, "agents/docs")
	docsAfter.Prompt = long
	old := record(session.Single("old"), "agents/old")
	old.Spec.Workspace.OnDestroy = session.RemoveClean
	return plan.Plan{
		Project: "shop", Lineage: "5b0c9d1e-3f41-4a8e-9d55-0c6b2f7a8e90", Serial: 41, At: at, Complete: true,
		Changes: []plan.Change{
			{Address: api, Action: plan.None, Reason: plan.ReasonBranchMismatch, Before: record(api, "agents/api"), After: wanted(spec(api, "agents/api"))},
			{Address: db, Action: plan.Update, Reason: plan.ReasonChanged, Detail: "restart.attempts, labels, args changed",
				Before: record(db, "agents/db"), After: wanted(spec(db, "agents/db")), Fields: []plan.Field{
					{Path: "restart.attempts", Before: 3, After: 5, Forces: plan.ForcesNothing},
					{Path: "labels", Before: map[string]string{"team": "shop", "tier": "a", "old": "x"},
						After: map[string]string{"team": "shop", "tier": "b", "new": "y"}, Forces: plan.ForcesNothing},
					{Path: "timeout", Before: session.Duration(time.Hour), After: session.Duration(4 * time.Hour), Forces: plan.ForcesNothing},
					{Path: "workspace.setup", Before: []string(nil), After: []string{"make", "deps"}, Forces: plan.ForcesNothing},
					{Path: "workspace.base", Before: "main", After: "", Forces: plan.ForcesNothing},
				}},
			{Address: docs, Action: plan.Restart, Reason: plan.ReasonPromptChanged, Detail: "prompt changed; starts a new conversation",
				Before: record(docs, "agents/docs"), After: &docsAfter, Fresh: true, Fields: []plan.Field{
					{Path: "prompt", Before: spec(docs, "").Prompt.Digest, After: long.Digest, Forces: plan.ForcesRestart},
					{Path: "args", Before: []string{"--verbose", "--model", "opus", "--add-dir", "/home/ada/shop/docs"},
						After: []string{"--model", "opus", "--add-dir", "/home/ada/shop/docs", "--add-dir", "/home/ada/shop/site"}, Forces: plan.ForcesRestart},
					{Path: "env", Before: map[string]string{"TOKEN": "secret-before"}, After: map[string]string{"TOKEN": "secret-after"}, Forces: plan.ForcesRestart, Sensitive: true},
				}},
			{Address: session.Single("found"), Action: plan.Adopt, Then: plan.Restart, Reason: plan.ReasonAdopt,
				Detail: "running but not in the state; then restart: args changed", After: wanted(spec("session.found", "agents/found"))},
			{Address: session.Single("lost"), Action: plan.Forget, Reason: plan.ReasonForget, Detail: "already gone; will be removed from the state", Before: record("session.lost", "agents/lost")},
			{Address: session.Single("old"), Action: plan.Delete, Reason: plan.ReasonNotWanted, Detail: "no longer in the manifest", Before: old},
			{Address: session.Single("site"), Action: plan.Replace, Reason: plan.ReasonBranchChanged,
				Detail: `branch "agents/site" becomes "agents/site2"; the old workspace stays`,
				Before: record("session.site", "agents/site"), After: wanted(spec("session.site", "agents/site2")), Fields: []plan.Field{
					{Path: "branch", Before: "agents/site", After: "agents/site2", Forces: plan.ForcesReplace}}},
			{Address: session.Single("soon"), Action: plan.Hold, Reason: plan.ReasonQueued, Until: at.Add(4*time.Minute + 7*time.Second),
				Detail: "queued: max_running = 8; it starts when a place falls free", After: wanted(spec("session.soon", "agents/soon"))},
			{Address: session.Single("still"), Action: plan.Pause, Reason: plan.ReasonPause, Detail: "declared paused", Before: record("session.still", "agents/still"), After: wanted(spec("session.still", "agents/still")),
				Lifts: &session.Override{Desired: session.Stopped, By: "ada", At: ago(time.Hour)}},
			{Address: cli, Action: plan.Create, Then: plan.Pause, Reason: plan.ReasonNew, After: wanted(spec(cli, "agents/cli"))},
			{Address: web, Action: plan.Restart, Reason: plan.ReasonStale, Detail: "agent exited", Before: record(web, "agents/web"), After: wanted(spec(web, "agents/web"))},
		},
		Drift: []plan.Drift{
			{Address: web, Kind: plan.Stale, Detail: "agent exited"},
			{Address: "session.ghost", Kind: plan.Orphaned, Detail: "tmux session shop-ghost-77aa00 (run 99) is managed by agentform but not in the state; it is not changed"},
		},
		Problems: []session.Diagnostic{
			{Severity: session.Error, Address: api, Summary: "branch mismatch",
				Detail: "workspace .agentform/workspaces/api is on \"main\", manifest declares \"agents/api\"\nto fix it: git -C .agentform/workspaces/api switch agents/api"},
			{Severity: session.Warning, Summary: "secret is not set", Detail: "OPENAI_API_KEY is not in the environment; apply will refuse to start session.db without it.",
				Range:   &session.Range{Filename: "agentform.hcl", Start: session.Pos{Line: 12, Column: 15, Byte: 200}, End: session.Pos{Line: 12, Column: 31, Byte: 216}},
				Snippet: &session.Snippet{Context: `session "db"`, Code: `  secrets = ["OPENAI_API_KEY"]`, Line: 12, From: 13, To: 29}},
		},
	}
}

// smallPlan returns a plan for a document: an error, an update, a hold, a restart.
func smallPlan() plan.Plan {
	p := samplePlan()
	p.Changes = []plan.Change{p.Changes[0], p.Changes[1], p.Changes[7], p.Changes[10]}
	p.Changes[1].Detail, p.Changes[1].Fields = "restart.attempts changed", p.Changes[1].Fields[:1]
	p.Problems, p.Drift = p.Problems[:1], p.Drift[:1]
	return p
}

// sampleDiagnostics returns a problem of each shape.
func sampleDiagnostics() []session.Diagnostic {
	return []session.Diagnostic{
		{Severity: session.Error, Summary: "Unsupported argument",
			Detail:  `An argument named "brunch" is not expected here. Did you mean "branch"?`,
			Range:   &session.Range{Filename: "agentform.hcl", Start: session.Pos{Line: 7, Column: 3, Byte: 91}, End: session.Pos{Line: 7, Column: 9, Byte: 97}},
			Snippet: &session.Snippet{Context: `session "api"`, Code: "  brunch = \"${var.prefix}/api\"", Line: 7, From: 2, To: 8}},
		{Severity: session.Error, Summary: "Invalid branch name",
			Detail: "git refuses \"agents/größe?\": it contains \"?\".\nThe name comes from var.prefix, which is set on the command line, and from local.areas, a list of three.\n  agentform validate --var prefix=agents",
			Range:  &session.Range{Filename: "agentform.hcl", Start: session.Pos{Line: 21, Column: 12, Byte: 300}, End: session.Pos{Line: 22, Column: 4, Byte: 340}},
			Snippet: &session.Snippet{Context: `session "worker"`, Code: "\tbranch = \"größe/${\n\tvar.prefix}?\"", Line: 21, From: 10, To: 35,
				Values: []session.Value{{Traversal: "each.key", Statement: `is "größe?"`}, {Traversal: "var.prefix", Statement: `is "agents"`}}}},
		{Severity: session.Warning, Summary: "Two agents share a file", Address: session.Keyed("worker", "web"), Detail: "Both write CHANGELOG.md."},
		{Severity: session.Error, Summary: "tmux is not installed"},
	}
}

func sampleEvents() []history.Event {
	web := session.Keyed("worker", "web")
	return []history.Event{
		{Time: ago(26 * time.Hour), Address: web, ID: "worker-web-1f2e3d4c", Kind: history.ApplyStart, Action: "create", Reason: "not_recorded", By: "ada"},
		{Time: ago(26*time.Hour - 2*time.Second), Address: web, ID: "worker-web-1f2e3d4c", Run: "00112233445566aa", Kind: history.PromptDelivered, Action: "create", By: "ada", New: session.PromptOf("Build it.").Digest, Detail: "as argument"},
		{Time: ago(26*time.Hour - 3*time.Second), Address: web, ID: "worker-web-1f2e3d4c", Run: "00112233445566aa", Kind: history.ApplyComplete, Action: "create", Elapsed: session.Duration(3100 * time.Millisecond)},
		{Time: ago(3 * time.Hour), Address: web, Kind: history.StatusChanged, Old: "running", New: "blocked", Detail: "Do you want to run npm test?", Excerpt: "Do you want to proceed?\n> 1. Yes\n"},
		{Time: ago(2 * time.Minute), Address: web, Kind: history.RunEnded, Run: "00112233445566aa", Reason: "self", Detail: "exit status 1"},
	}
}

// sampleSessions returns a session in each common state.
func sampleSessions() []api.Session {
	running := func(a session.Address, branch string, act session.Activity) status.Input {
		r := record(a, branch)
		yes := true
		return status.Input{Wanted: &r.Spec, Record: r, Diagnosis: plan.Diagnosis{State: session.StateRunning, Alive: &yes, Detail: "running"},
			Look:       &activity.Look{Detection: session.Detection{Activity: act}, Observable: true},
			Checkout:   &session.Checkout{Path: r.Tree.Path, Exists: true, Git: true, Branch: branch},
			Transcript: data + "/agents/builder/" + r.ID + "/transcript.log"}
	}
	no := false
	backend := running("session.api", "agents/api", session.Working)
	backend.Checkout.Branch = "main"
	backend.Changes = &changes.Count{Changes: git.Changes{Untracked: 1}, Base: "main", At: at}
	asks := running("session.asks", "agents/asks", session.Blocked)
	asks.Changes = &changes.Count{Changes: git.Changes{Added: 120, Removed: 8, Untracked: 1, Ahead: 2, Behind: 4}, Base: "main", FetchedAt: ago(3 * time.Hour), At: ago(90 * time.Second)}
	asks.Conflicts = []conflicts.Conflict{{Base: "main", Files: []string{"go.mod"}}}
	asks.Look.Detection.Question = &session.Question{ID: "1f2e3d4c5b6a", Text: `run "npm test"?`, Options: []session.Option{
		{Number: 1, Word: session.Yes, Label: "Yes", Key: "1"},
		{Number: 2, Word: session.Always, Label: "Yes, and don't ask again for npm test", Key: "2"},
		{Number: 3, Word: session.No, Label: "No", Key: "3"},
	}}
	asks.Look.Detection.Detail = asks.Look.Detection.Question.String()
	still := running("session.still", "agents/still", session.Idle)
	still.Diagnosis.State, still.Diagnosis.Detail = session.StatePaused, "paused"
	still.Record.Override = &session.Override{Desired: session.Paused, By: "ada", At: ago(12 * time.Minute)}
	web := running(session.Keyed("worker", "web"), "agents/a-branch-with-a-rather-long-name", "")
	web.Diagnosis = plan.Diagnosis{State: session.StateStale, Activity: session.Exited, Alive: &no, Reason: plan.ReasonExited,
		Detail: "agent exited (exit status 1)"}
	web.Live = &session.Live{Exit: &session.Exit{Cause: "self", Code: 1, At: ago(2 * time.Minute), Ran: session.Duration(123 * time.Minute)},
		Location: web.Record.Location, Started: web.Record.Run.StartedAt, PlaceUp: true, Liveness: session.Dead}
	web.Events = sampleEvents()
	web.Record.Run.Number = 1
	web.Conflicts = []conflicts.Conflict{}
	web.Changes = &changes.Count{Base: "v1.2", At: ago(3 * time.Minute)}
	web.Restarts = &health.Verdict{Reason: health.BackingOff, Try: 3, Of: 5, Until: ago(-8 * time.Second)}
	gone := running("session.gone", "agents/gone", "")
	gone.Diagnosis = plan.Diagnosis{State: session.StateError, Activity: session.Exited, Alive: &no, Detail: "tmux session is gone"}
	fresh := spec("session.fresh", "agents/fresh")
	far := running("session.far", "agents/far", "")
	far.Diagnosis = plan.Diagnosis{State: session.StateUnknown, Activity: session.NoActivity, Detail: "docker/sandbox was not inspected"}
	var all []api.Session
	for _, k := range []status.Input{backend, asks, far,
		{Wanted: &fresh, Diagnosis: plan.Diagnosis{State: session.StatePending, Alive: &no, Reason: plan.ReasonNew, Detail: "not in the state"}}, gone, still, web} {
		k.At = at
		all = append(all, status.Of(k))
	}
	return all
}

func sampleShown() status.Detail {
	sessions := sampleSessions()
	r := record(session.Keyed("worker", "web"), "agents/a-branch-with-a-rather-long-name")
	r.Run.Number = 1
	return status.Detail{Session: sessions[len(sessions)-1], Record: r, Events: sampleEvents()[2:],
		Screen: "● Running the tests…\n\n  ⎿  FAIL  src/cart.test.ts\n\n$ \n\n\n"}
}

func sampleFindings() []doctor.Finding {
	return []doctor.Finding{
		{Level: doctor.Fine, Subject: "tmux", Problem: "3.3a, /usr/bin/tmux", Remedy: ""},
		{Level: doctor.Warning, Subject: "docker", Problem: "not reachable: permission denied on /var/run/docker.sock", Remedy: "sudo usermod -aG docker ada, then log in again"},
		{Level: doctor.Fault, Subject: "state file", Problem: "/home/ada/shop/.agentform/state.json is damaged:\nunexpected end of JSON input", Remedy: "restore a backup, or move it away and adopt the sessions:\nagentform apply"},
	}
}
