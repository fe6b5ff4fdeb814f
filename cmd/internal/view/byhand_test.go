package view

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/cmd/internal/prune"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// An instance of a block is not removed with the block.
func TestCleanedInstance(t *testing.T) {
	for address, want := range map[session.Address]string{
		"session.api":              "delete its block there",
		session.Keyed("w", "docs"): "take it out of the block's for_each or count",
	} {
		var b strings.Builder
		if err := Cleaned(&b, Style{}, land.Landed{Address: address}, Cleanup{Removed: true, File: "/agentform.hcl", Line: 6}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s: %q, want %q", address, b.String(), want)
		}
	}
}

func TestByHand(t *testing.T) {
	sessions := sampleSessions()
	web := Finished{Session: sessions[len(sessions)-1], Elapsed: 125 * time.Second}
	seen := Finished{Session: sessions[1], Elapsed: time.Second}
	styles(t, "finished", false, func(w io.Writer, s Style) error {
		if err := FinishedLine(w, s, web, at); err != nil {
			return err
		}
		return FinishedLine(w, s, seen, at)
	})
	fetched := []Fetched{
		{Address: "session.api", Branch: "agents/api", Ref: "refs/agentform/api-5e897c/agents/api", Fetched: true, Commit: "f1ff7eec0ffee0000000000000000000000000000", Moved: true, Ahead: 3},
		{Address: "session.docs", Branch: "agents/docs", Ref: "refs/agentform/docs-1a2b3c/agents/docs", Fetched: true, Commit: "0123456c0ffee0000000000000000000000000000"},
		{Address: session.Keyed("worker", "web"), Branch: "agents/web", Ref: "refs/heads/agents/web"},
	}
	styles(t, "fetch", false, func(w io.Writer, s Style) error { return FetchedLines(w, s, fetched) })
	golden(t, "fetch.json", func(w io.Writer) error { return FetchedJSON(w, fetched) })
	merged := land.Landed{Address: "session.api", Branch: "agents/api", Commit: "f1ff7eec0ffee0000000000000000000000000000", Base: "main", Method: land.Squash,
		Done: true, Commits: 3, From: "0123456c0ffee0000000000000000000000000000", To: "7654321c0ffee0000000000000000000000000000", Moved: "/home/dev/shop",
		Steps: []land.Step{{Kind: "squash", Detail: "squash 3 commits of agents/api into one: Add retries"}, {Kind: "advance", Detail: "move main, checked out at /home/dev/shop"}}}
	cleaned := Cleanup{Stopped: true, Removed: true, Tree: true, Branch: true, File: "/home/dev/shop/agentform.hcl", Line: 6, Source: "session \"api\" {\n  agent = \"claude\"\n}"}
	styles(t, "land", true, func(w io.Writer, s Style) error {
		pushed := land.Landed{Address: "session.web", Branch: "agents/web", Base: "main", Method: land.PR, Remote: "origin", URL: "https://github.com/shop/api/compare/main...agents/web?expand=1", Note: "gh is not installed"}
		opened := pushed
		opened.URL, opened.Open = "https://github.com/shop/api/pull/12", true
		f := land.Facts{Address: "session.docs", Branch: "agents/docs", Base: "main"}
		return errors.Join(LandStep(w, s, "session.api", merged.Steps[0]), Landed(w, s, merged), Cleaned(w, s, merged, cleaned),
			Cleaned(w, s, merged, Cleanup{Removed: true, Kept: "branch agents/api stays: it is checked out at /elsewhere", File: "/home/dev/shop/agentform.hcl", Line: 9}),
			Landed(w, s, pushed), Landed(w, s, opened), LandPlan(w, s, f, merged.Steps), LandPlan(w, s, f, nil),
			Landed(w, s, land.Landed{Address: "session.docs", Branch: "agents/docs", Base: "main", Done: true, Already: true}))
	})
	golden(t, "land.json", func(w io.Writer) error { return LandJSON(w, merged, cleaned, false) })
	three, none := 3, 0
	golden(t, "diff.json", func(w io.Writer) error {
		return DiffJSON(w, []Diff{{Address: "session.api", Branch: "agents/api", Workspace: data + "/workspaces/api-5e897c/agents-api", Base: "main",
			MergeBase: "f1ff7eec0ffee0000000000000000000000000000", Ahead: 2, Files: []api.DiffFile{
				{Path: "cart.go", Change: "modified", Added: &three, Removed: &none},
				{Path: "cart/total.go", OldPath: "total.go", Change: "renamed", Added: &none, Removed: &none},
				{Path: "logo.png", Change: "untracked"}}}})
	})
	left := func(done bool) []prune.Leftover {
		action := prune.Remove
		if done {
			action = prune.Removed
		}
		return []prune.Leftover{
			{Kind: "workspace", Path: data + "/workspaces/api-5e897c/agents-api", Bytes: 4_200_000, Action: action, Reason: "clean; branch agents/api is kept"},
			{Kind: "workspace", Path: data + "/workspaces/web-1a2b3c/agents-web", Bytes: 12_000, Action: prune.Keep, Reason: "it holds 2 uncommitted changes"},
			{Kind: "branch", Path: "refs/heads/agents/docs", Action: action, Reason: "merged into main (at f1ff7ee)"},
			{Kind: "run", Path: data + "/runs/00112233445566aa", Bytes: 2300, Action: action, Reason: "unused"},
			{Kind: "run", Path: data + "/runs/00112233445566bb", Bytes: 2300, Action: action, Reason: "unused"},
			{Kind: "prompt", Path: data + "/blobs/ab12", Bytes: 17, Action: prune.Failed, Reason: "remove /blobs/ab12: permission denied"},
		}
	}
	styles(t, "prune", true, func(w io.Writer, s Style) error {
		if err := Prune(w, s, left(false)); err != nil {
			return err
		}
		return Prune(w, s, left(true))
	})
	golden(t, "prune.json", func(w io.Writer) error { return PruneJSON(w, left(true), true) })
	golden(t, "finished.jsonl", func(w io.Writer) error {
		now := at
		l, err := NewLines(io.Discard, "0.1.0", func() time.Time { return now })
		if err != nil {
			return err
		}
		l.w, now = w, at.Add(125*time.Second)
		return l.Finished(web)
	})
}

// A moved session shows its previous place, and an import what it adopts.
func TestMovedAndImported(t *testing.T) {
	spec := *wanted(spec("session.new", "agents/new"))
	p := plan.Plan{Complete: true, At: at, Changes: []plan.Change{
		{Address: "session.new", Action: plan.Update, Reason: plan.ReasonMoved, Detail: "it was session.old", Moved: "session.old", After: &spec},
		{Address: "session.web", Action: plan.Adopt, Reason: plan.ReasonImport, Detail: "adopted while running: tmux:default/web", Import: "tmux:default/web", After: &spec},
	}}
	var text, doc bytes.Buffer
	if err := Plan(&text, Style{}, p, false); err != nil {
		t.Fatal(err)
	}
	if err := wire.Write(&doc, status.PlanOf(p, "0.1.0")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"~ session.new (was session.old) will be updated in place: it was session.old\n",
		"> session.web will be adopted: adopted while running: tmux:default/web\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the plan does not say %q:\n%s", want, &text)
		}
	}
	for _, want := range []string{`"previous_address": "session.old"`, `"import_id": "tmux:default/web"`} {
		if !strings.Contains(doc.String(), want) {
			t.Errorf("the document has no %s", want)
		}
	}
}
