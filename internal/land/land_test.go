package land

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/session"
)

// atRest are the facts of work that can be landed.
func atRest() Facts {
	return Facts{
		Address: "session.api", Branch: "agents/api", Commit: "c1",
		At:   session.Checkout{Path: "/w", Exists: true, Git: true, Branch: "agents/api"},
		Base: "main", BaseTip: "b1",
		Commits: []git.Commit{{ID: "c0", Author: "Ann <a@x>", Message: "Add a"}, {ID: "c1", Author: "Ann <a@x>", Message: "Add b"}},
		Holders: []Holder{{Path: "/repo"}},
		Remote:  Remote{"origin", "git@github.com:shop/api.git"},
	}
}

func TestDecide(t *testing.T) {
	merge, pr := Request{Method: Merge}, Request{Method: PR}
	for name, x := range map[string]struct {
		change  func(*Facts)
		request Request
		steps   string // kinds; empty and no refusal: nothing to do
		refused string // part of the error
	}{
		"merge":           {nil, merge, "merge advance", ""},
		"squash":          {nil, Request{Method: Squash}, "squash advance", ""},
		"rebase":          {nil, Request{Method: Rebase}, "rebase advance", ""},
		"pull request":    {nil, pr, "push pull_request", ""},
		"landed":          {func(f *Facts) { f.Merged = true }, merge, "", ""},
		"landed, dirty":   {func(f *Facts) { f.Merged, f.Holders[0].Overwritten = true, []string{"a"} }, merge, "", ""},
		"landed far away": {func(f *Facts) { f.Merged, f.BaseTip = true, "" }, merge, "", ""},
		"unsaved":         {func(f *Facts) { f.Unsaved.Untracked = 2 }, merge, "", "session.api has 2 untracked files in /w\nagentform land api --commit MESSAGE"},
		"unsaved, and conflicts": {func(f *Facts) { f.Unsaved.Untracked, f.Conflict = 2, []string{"c"} }, merge, "",
			"session.api has 2 untracked files in /w, and agents/api conflicts with main in 1 file; nothing was changed:\n  c\n"},
		"committed first": {func(f *Facts) { f.Unsaved.Untracked = 2 }, Request{Method: Merge, Commit: "m"}, "commit merge advance", ""},
		"landed, unsaved": {func(f *Facts) { f.Merged, f.Unsaved.Uncommitted = true, 1 }, merge, "", "1 uncommitted change"},
		"working":         {func(f *Facts) { f.Doing = session.Working }, merge, "", "agentform wait api"},
		"asking":          {func(f *Facts) { f.Doing, f.Asks = session.Blocked, "run it?" }, merge, "", "asks a question: run it?"},
		"answerable":      {func(f *Facts) { f.Doing, f.Asks, f.Answers = session.Blocked, "run it? [yes] [no]", true }, merge, "", "run it? [yes] [no]\nagentform answer api ANSWER"},
		"rebasing":        {func(f *Facts) { f.Unsaved.Busy = "rebase" }, merge, "", "git -C /w rebase --abort"},
		"elsewhere":       {func(f *Facts) { f.At.Branch = "x" }, merge, "", `its workspace is on "x"`},
		"no workspace":    {func(f *Facts) { f.At = session.Checkout{} }, merge, "merge advance", ""},
		"no branch":       {func(f *Facts) { f.Commit = "" }, merge, "", "does not exist"},
		"no base":         {func(f *Facts) { f.Base = "" }, merge, "", "--into BRANCH"},
		"on its base":     {func(f *Facts) { f.Base = f.Branch }, merge, "", "nothing to land"},
		"remote base":     {func(f *Facts) { f.Base, f.BaseTip = "origin/main", "" }, merge, "", "--pr"},
		"remote base, pr": {func(f *Facts) { f.BaseTip = "" }, pr, "push pull_request", ""},
		"dirty base": {func(f *Facts) { f.Holders[0].Overwritten = []string{"a", "b"} }, merge, "",
			"main is checked out at /repo, where landing would overwrite uncommitted work in 2 files; nothing was changed:\n  a\n  b\ncommit, stash or move them first, or: agentform land api --pr"},
		"hidden work":     {func(f *Facts) { f.Holders[0].Overwritten, f.Holders[0].Hidden = []string{"a"}, true }, merge, "", "git -C /repo ls-files -v marks"},
		"dirty base, pr":  {func(f *Facts) { f.Holders[0].Overwritten = []string{"a"} }, pr, "push pull_request", ""},
		"base merging":    {func(f *Facts) { f.Holders[0].Busy, f.Holders[0].Unmerged = "merge", []string{"a"} }, merge, "", "main is checked out at /repo, where a merge is in progress\nfinish it first, or: git -C /repo merge --abort"},
		"base bisected":   {func(f *Facts) { f.Holders[0].Busy = "bisect" }, Request{Method: Squash}, "", "git -C /repo bisect reset"},
		"base unmerged":   {func(f *Facts) { f.Holders[0].Unmerged = []string{"a"} }, Request{Method: Rebase}, "", "main is checked out at /repo with unresolved conflicts; nothing was changed:\n  a\nresolve and commit"},
		"busy base":       {func(f *Facts) { f.Holders[0].Session, f.Holders[0].Doing = "session.lead", session.Working }, merge, "", "where session.lead is working"},
		"two checkouts":   {func(f *Facts) { f.Holders = append(f.Holders, Holder{Path: "/two"}) }, merge, "", "checked out twice"},
		"no checkout":     {func(f *Facts) { f.Holders = nil }, merge, "merge advance", ""},
		"conflict":        {func(f *Facts) { f.Conflict, f.Doing = []string{"b", "a"}, session.Done }, merge, "", "in 2 files; nothing was changed:\n  a\n  b\nagentform send api"},
		"conflict, more":  {func(f *Facts) { f.Conflict, f.Doing, f.Unsaved.Uncommitted = []string{"a"}, session.Idle, 1 }, Request{Method: Merge, Commit: "m"}, "", "agentform send api 'Commit your work. Merge main into your branch and resolve the conflicts.'"},
		"conflict, late":  {func(f *Facts) { f.Conflict, f.Committed = []string{"a"}, true }, merge, "", "in 1 file; its work is committed on agents/api, and nothing else was changed"},
		"conflict, ended": {func(f *Facts) { f.Conflict = []string{"a"} }, merge, "", "git -C /w merge main\nthen land it again, or start its agent first: agentform start api"},
		"conflict, clone": {func(f *Facts) { f.Conflict, f.Ref = []string{"a"}, "refs/agentform/api-1/agents/api" }, merge, "", "git switch main && git merge refs/agentform/api-1/agents/api"},
		"conflict, pr":    {func(f *Facts) { f.Conflict = []string{"a"} }, pr, "push pull_request", ""},
		"verified":        {func(f *Facts) { f.Verifies = true }, merge, "merge advance", ""},
		"not verified":    {func(f *Facts) { f.Verifies, f.Unverified = true, true }, merge, "", "its commit c1 is not verified\nagentform verify api does that; agentform land api --unverified lands"},
		"red":             {func(f *Facts) { f.Verifies, f.Unverified, f.Red = true, true, "exit status 2" }, pr, "", "its commit c1 fails verification: exit status 2\nagentform land api --unverified"},
		"red, forced":     {func(f *Facts) { f.Verifies, f.Unverified = true, true }, Request{Method: Merge, Unverified: true}, "merge advance", ""},
		"red, and landed": {func(f *Facts) { f.Verifies, f.Unverified, f.Merged = true, true, true }, merge, "", ""},
		"verified, more":  {func(f *Facts) { f.Verifies, f.Unsaved.Uncommitted = true, 1 }, Request{Method: Merge, Commit: "m"}, "", "what is not committed is not verified"},
		"no remote":       {func(f *Facts) { f.Remote = Remote{} }, pr, "", "git remote add"},
	} {
		f := atRest()
		if x.change != nil {
			x.change(&f)
		}
		steps, err := Decide(f, x.request)
		var kinds []string
		for _, s := range steps {
			kinds = append(kinds, s.Kind)
		}
		if got := strings.Join(kinds, " "); got != x.steps || (err != nil) != (x.refused != "") || err != nil && !strings.Contains(err.Error(), x.refused) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestDecideUnsaved checks that a refusal says what is not committed where a message for it is all that lacks.
func TestDecideUnsaved(t *testing.T) {
	for _, x := range []struct {
		change func(*Facts)
		want   string
	}{
		{func(f *Facts) { f.Unsaved.Untracked = 2 }, "2 untracked files"},
		{func(f *Facts) { f.Unsaved.Untracked, f.Conflict = 2, []string{"c"} }, ""},
		{func(f *Facts) { f.Conflict = []string{"c"} }, ""},
	} {
		f := atRest()
		x.change(&f)
		_, err := Decide(f, Request{Method: Merge})
		if r, ok := errors.AsType[*Refusal](err); !ok || r.Unsaved != x.want {
			t.Errorf("%v is without %q", err, x.want)
		}
	}
}

func TestRefusalListsSomeFiles(t *testing.T) {
	r := &Refusal{Why: "conflicts:", Files: make([]string, maxFiles+2), Next: "next"}
	if text := r.Error(); strings.Count(text, "\n") != maxFiles+2 || !strings.Contains(text, "\n  … and 2 more\nnext") {
		t.Errorf("%s", text)
	}
}

func TestMessageOf(t *testing.T) {
	one := []git.Commit{{Author: "Ann <a@x>", Message: "Add a\n\nBecause.\n\nCo-authored-by: Bob <b@x>"}}
	two := append(one, git.Commit{Author: "Cem <c@x>", Message: "Fix a\n\nco-authored-by: bob <B@x>\nSigned-off-by: Cem <c@x>"})
	for name, x := range map[string]struct {
		request Request
		commits []git.Commit
		base    string
		want    Message
	}{
		"merge":        {Request{Method: Merge}, one, "main", Message{Text: "Merge branch 'agents/api'"}},
		"merge into":   {Request{Method: Merge}, one, "release", Message{Text: "Merge branch 'agents/api' into release"}},
		"merge, asked": {Request{Method: Merge, Message: "Mine"}, one, "main", Message{Text: "Mine"}},
		"one commit":   {Request{Method: Squash}, one, "main", Message{"Add a\n\nBecause.\n\nCo-authored-by: Bob <b@x>\n", "Ann <a@x>"}},
		"two commits": {Request{Method: Squash}, two, "main",
			Message{"Add a\n\n* Add a\n* Fix a\n\nCo-authored-by: Bob <b@x>\nSigned-off-by: Cem <c@x>\nCo-authored-by: Cem <c@x>\n", "Ann <a@x>"}},
		"asked": {Request{Method: Squash, Message: "Mine\n\nWhy."}, one, "main", Message{"Mine\n\nWhy.\n\nCo-authored-by: Bob <b@x>\n", "Ann <a@x>"}},
		"to be": {Request{Method: Squash, Commit: "Later"}, nil, "main", Message{Text: "Later"}},
	} {
		f := atRest()
		f.Commits, f.Base = x.commits, x.base
		if got := MessageOf(f, x.request); got != x.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
