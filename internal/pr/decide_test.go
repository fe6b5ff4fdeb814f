package pr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/session"
)

// minute is a time, counted from the beginning of the tests.
func minute(n int) time.Time {
	return time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
}

var wanted = session.PR{Checks: session.PRSends, Reviews: session.PRSends, Rounds: 2, From: []string{"OWNER"}}

func failed(id int64) forge.Check {
	return forge.Check{ID: id, Name: fmt.Sprintf("check %d", id), URL: "https://github.com/k", Done: true, Failed: true, At: minute(0)}
}

func comment(id int, association string) forge.Comment {
	return forge.Comment{ID: fmt.Sprintf("comment:%d", id), Author: "ann", Association: association, Path: "a.go", Line: 3, Body: "Why?", URL: "https://github.com/c"}
}

func pull(head string, change ...func(*forge.PullRequest)) *forge.PullRequest {
	p := &forge.PullRequest{Number: 12, URL: "https://github.com/shop/api/pull/12", Open: true, Base: "main", Head: head}
	for _, c := range change {
		c(p)
	}
	return p
}

func with(checks ...forge.Check) func(*forge.PullRequest) {
	return func(p *forge.PullRequest) { p.Checks = checks }
}

func asks(comments ...forge.Comment) func(*forge.PullRequest) {
	return func(p *forge.PullRequest) { p.Comments = comments }
}

// known is what is recorded of an open pull request whose check 1 was sent at minute 10.
func known(change ...func(*session.PullRequest)) *session.PullRequest {
	r := &session.PullRequest{Number: 12, URL: "https://github.com/shop/api/pull/12", State: session.PROpen, Head: "old", Checks: session.ChecksFailed,
		Given: []string{"check:1"}, Round: 1, SentAt: minute(10), SentFor: "old"}
	for _, c := range change {
		c(r)
	}
	return r
}

func held(at int, detail string) func(*session.PullRequest) {
	return func(r *session.PullRequest) { r.HeldAt, r.Detail = minute(at), detail }
}

func TestDecide(t *testing.T) {
	passed, runs := forge.Check{ID: 8, Done: true}, forge.Check{ID: 9}
	merged := func(p *forge.PullRequest) { p.Open, p.Merged, p.MergedAt = false, "beef", minute(5) }
	works := func(f *Facts) { f.Rests, f.Works = false, true }
	// The agent was given something at minute 11, and has ended the turn at minute 15; it is minute 20.
	for name, c := range map[string]struct {
		was    *session.PullRequest
		now    *forge.PullRequest
		change func(*Facts)
		want   string
	}{
		"no pull request":          {nil, nil, nil, ""},
		"it is gone":               {known(), nil, nil, ""},
		"a new one":                {nil, pull("a"), nil, "note open"},
		"the same":                 {known(), pull("old", with(failed(1))), works, ""},
		"a check failed":           {nil, pull("a", with(failed(1), passed)), nil, "send open failed round 1: check:1"},
		"and the agent works":      {nil, pull("a", with(failed(1))), works, "note open failed"},
		"and it is to be verified": {nil, pull("a", with(failed(1))), func(f *Facts) { f.Unverified = true }, "note open failed"},
		"somebody has begun to type": {known(), pull("new", with(failed(2))), func(f *Facts) { f.Untaken = errors.New("typed") },
			"hold open failed round 1 held 20: its agent could not be sent 1 failed check: typed"},
		"and others run":              {nil, pull("a", with(forge.Check{ID: 1, Done: true, Failed: true, At: minute(11)}, runs)), nil, "note open failed"},
		"and others run for long":     {nil, pull("a", with(failed(1), runs)), nil, "send open failed round 1: check:1"},
		"checks are ignored":          {nil, pull("a", with(failed(1))), func(f *Facts) { f.Spec.Checks = session.PRIgnores }, "note open failed"},
		"a comment":                   {nil, pull("a", asks(comment(5, "OWNER"), comment(6, "NONE"))), nil, "send open 2 reviews round 1: comment:5"},
		"of nobody that is named":     {nil, pull("a", asks(comment(6, "NONE"))), nil, "note open 1 reviews"},
		"of everyone":                 {nil, pull("a", asks(comment(6, "NONE"), comment(7, "FIRST_TIMER"), comment(8, "CONTRIBUTOR"))), func(f *Facts) { f.Spec.From = []string{"NONE"} }, "send open 3 reviews round 1: comment:6 comment:7"},
		"comments are ignored":        {nil, pull("a", asks(comment(5, "OWNER"))), func(f *Facts) { f.Spec.Reviews = session.PRIgnores }, "note open 1 reviews"},
		"a comment, checks run":       {nil, pull("a", asks(comment(5, "OWNER")), with(runs)), nil, "send open running 1 reviews round 1: comment:5"},
		"both":                        {nil, pull("a", asks(comment(5, "OWNER")), with(failed(1))), nil, "send open failed 1 reviews round 1: check:1 comment:5"},
		"another fails":               {known(), pull("new", with(failed(2))), nil, "send open failed round 2: check:2"},
		"it failed once more":         {known(), pull("old", with(failed(2))), nil, "send open failed round 2: check:2"},
		"rounds are used up":          {known(func(r *session.PullRequest) { r.Round = 2 }), pull("new", with(failed(2))), nil, "hold open failed round 2 held 20: after 2 texts in a row there is more: 1 failed check"},
		"nothing was pushed":          {known(), pull("old", with(failed(1))), nil, "hold open failed round 1 held 20: its agent has pushed nothing since it was sent 1 failed check"},
		"it runs again":               {known(), pull("old", with(runs)), nil, "note open running round 1"},
		"a moment ago":                {known(), pull("old", with(failed(1))), func(f *Facts) { f.At = minute(15).Add(59 * time.Second) }, ""},
		"it was pushed":               {known(), pull("new"), nil, "note open round 1"},
		"and its checks run":          {known(), pull("new", with(runs)), nil, "note open running round 1"},
		"and they passed":             {known(), pull("new", with(passed)), nil, "note open passed"},
		"but a comment is left":       {known(), pull("new", with(passed), asks(comment(5, "OWNER"))), func(f *Facts) { f.Was.Given = append(f.Was.Given, "comment:5") }, "note open passed 1 reviews round 1"},
		"one of others":               {known(), pull("new", with(passed), asks(comment(5, "NONE"))), nil, "note open passed 1 reviews"},
		"killed before it was typed":  {known(), pull("old", with(failed(1))), func(f *Facts) { f.Given, f.Ended = minute(1), minute(2) }, "hold open failed round 1 held 20: its agent may not have been sent what is new of its pull request"},
		"held":                        {known(held(16, "why")), pull("old", with(failed(2)), asks(comment(5, "OWNER"))), nil, "note open failed 1 reviews round 1 held 16: why"},
		"held, and nothing new":       {known(held(16, "why")), pull("old", with(failed(1))), nil, ""},
		"someone pushed":              {known(held(16, "why")), pull("new", with(failed(2))), nil, "send open failed round 2: check:2"},
		"after all rounds":            {known(held(16, "why"), func(r *session.PullRequest) { r.Round = 2 }), pull("new", with(failed(2))), nil, "note open failed round 2 held 16: why"},
		"someone helped":              {known(held(10, "why"), func(r *session.PullRequest) { r.Round = 2 }), pull("new", with(failed(2))), nil, "send open failed round 1: check:2"},
		"mended by others":            {known(held(16, "why"), func(r *session.PullRequest) { r.Round = 2 }), pull("new", with(passed)), nil, "note open passed"},
		"it can be read again":        {known(held(16, "gh is not installed"), func(r *session.PullRequest) { r.Unread, r.Round = true, 0 }), pull("old", with(failed(2))), nil, "send open failed round 1: check:2"},
		"another pull request":        {known(held(16, "why")), pull("old", with(failed(2)), func(p *forge.PullRequest) { p.Number = 13 }), nil, "send open failed round 2: check:2"},
		"another one of other work":   {known(held(16, "why")), pull("new", with(failed(2)), func(p *forge.PullRequest) { p.Number = 13 }), nil, "send open failed round 1: check:2"},
		"what was sent of another":    {known(func(r *session.PullRequest) { r.Given = []string{"check:2"} }), pull("new", with(failed(2)), func(p *forge.PullRequest) { p.Number = 13 }), nil, "note open failed"},
		"closed":                      {known(), pull("old", func(p *forge.PullRequest) { p.Open = false }), nil, "note closed failed round 1"},
		"merged":                      {known(held(16, "why")), pull("old", merged), nil, "land merged failed round 1"},
		"merged while it works":       {known(), pull("old", merged), works, ""},
		"merged, and it does not run": {known(), pull("old", merged), func(f *Facts) { f.Rests = false }, "land merged failed round 1"},
		"merged, and started again":   {known(), pull("old", merged), func(f *Facts) { f.From = minute(6) }, "note merged failed round 1"},
		"merged, and not landed yet":  {known(func(r *session.PullRequest) { r.State = session.PRMerged }), pull("old", merged), nil, "land merged failed round 1"},
		"merged, and landed":          {known(func(r *session.PullRequest) { r.State = session.PRMerged }), pull("old", merged), func(f *Facts) { f.Landed = true }, ""},
		"merged after another one":    {known(func(r *session.PullRequest) { r.State, r.Number = session.PRMerged, 11 }), pull("old", merged), func(f *Facts) { f.Landed = true }, "land merged round 1"},
		"merged without some commits": {known(held(16, "why"), func(r *session.PullRequest) { r.State = session.PRMerged }), pull("old", merged), nil, ""},
	} {
		f := Facts{Spec: wanted, Was: c.was, Now: c.now, At: minute(20), Rests: true, Given: minute(11), Ended: minute(15)}
		f.Spec.From = slices.Clone(wanted.From)
		if c.change != nil {
			c.change(&f)
		}
		action, next, parcel := Decide(f)
		words := []string{string(action)}
		if action != Nothing {
			words = append(words, string(next.State), string(next.Checks))
			if next.Reviews > 0 {
				words = append(words, fmt.Sprint(next.Reviews, " reviews"))
			}
			if next.Round > 0 {
				words = append(words, fmt.Sprint("round ", next.Round))
			}
			if next.Held() {
				words = append(words, fmt.Sprintf("held %.0f: %s", next.HeldAt.Sub(minute(0)).Minutes(), next.Detail))
			}
		}
		got := strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
		if action == Send {
			got += ": " + strings.Join(parcel.ids(), " ")
			if !next.SentAt.Equal(minute(20)) || next.SentFor != c.now.Head {
				t.Errorf("%s: sent at %s for %s", name, next.SentAt, next.SentFor)
			}
			again := f
			again.Was = &next
			if a, _, p := Decide(again); a == Send {
				t.Errorf("%s: %s is sent again", name, p)
			}
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// TestHeldForDraft checks that a person is called once for a text in the composer, and that what is
// new is sent when somebody has helped.
func TestHeldForDraft(t *testing.T) {
	f := Facts{Spec: wanted, Now: pull("a", with(failed(1))), At: minute(20), Rests: true, Given: minute(11), Ended: minute(15), Untaken: errors.New("typed")}
	action, next, _ := Decide(f)
	if action != Hold {
		t.Fatal(action)
	}
	f.Was, f.At = &next, minute(30)
	if action, _, _ := Decide(f); action != Nothing {
		t.Errorf("then: %s", action)
	}
	f.Given, f.Ended, f.Untaken = minute(31), minute(32), nil
	if action, _, parcel := Decide(f); action != Send || parcel.empty() {
		t.Errorf("at last: %s %s", action, parcel)
	}
}

// TestRemembered checks that what a pull request has is sent once, however much that is, and that what it
// does not have any more is forgotten at last.
func TestRemembered(t *testing.T) {
	var many []forge.Comment
	for i := range remembered + 100 {
		many = append(many, comment(i, "OWNER"))
	}
	f := Facts{Spec: wanted, Now: pull("a", asks(many...)), At: minute(20), Rests: true, Given: minute(11), Ended: minute(15)}
	_, next, parcel := Decide(f)
	if len(parcel.Comments) != len(many) {
		t.Errorf("%d comments are sent", len(parcel.Comments))
	}
	f.Was, f.Given, f.Ended, f.At = &next, minute(21), minute(25), minute(30)
	f.Now.Comments = append(f.Now.Comments, comment(len(many), "OWNER"))
	_, next, parcel = Decide(f)
	if d := cmp.Diff([]string{fmt.Sprint("comment:", len(many))}, parcel.ids()); d != "" {
		t.Error(d)
	}
	f.Was, f.Spec.Rounds, f.Given, f.Ended, f.At = &next, 3, minute(31), minute(35), minute(40)
	f.Now.Comments = f.Now.Comments[400:]
	f.Now.Comments = append(f.Now.Comments, comment(9000, "OWNER"))
	if _, next, _ = Decide(f); len(next.Given) != remembered {
		t.Errorf("%d are remembered", len(next.Given))
	}
}
