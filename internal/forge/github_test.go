package forge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/environ"
)

const (
	onGitHub = "git@github.com:shop/api.git"
	pulls    = "repos/shop/api/pulls?state=all&sort=created&direction=desc&per_page=20&head=shop%3Aagents%2Fapi"
	checks   = "repos/shop/api/commits/c0ffee/check-runs?filter=latest&per_page=100&page=1"
	comments = "repos/shop/api/pulls/12/comments?per_page=100&page=1"
	reviews  = "repos/shop/api/pulls/12/reviews?per_page=100&page=1"
)

func (r *room) open() {
	r.answers(pulls, `"p1"`, `[
		{"number":11,"state":"closed","merged_at":null,"closed_at":"2026-11-01T00:00:00Z","head":{"sha":"0"},"base":{"ref":"main"}},
		{"number":12,"html_url":"https://github.com/shop/api/pull/12","state":"open","merged_at":null,"closed_at":null,"merge_commit_sha":"tried","head":{"sha":"c0ffee"},"base":{"ref":"main"}}]`)
	r.answers(checks, `"k1"`, `{"total_count":4,"check_runs":[
		{"id":3,"name":"slow","status":"in_progress","conclusion":null,"completed_at":null,"html_url":"https://github.com/shop/api/runs/3","details_url":"https://github.com/shop/api/actions/runs/7/job/3","output":{"title":null,"summary":null}},
		{"id":2,"name":"lint","status":"completed","conclusion":"failure","completed_at":"2026-11-28T10:02:00Z","html_url":"https://github.com/shop/api/runs/2","details_url":"https://ci.example.org/2","output":{"title":"Two faults","summary":"in a.go"}},
		{"id":1,"name":"test","status":"completed","conclusion":"timed_out","completed_at":"2026-11-28T10:01:00Z","html_url":"https://github.com/shop/api/runs/1","details_url":"https://github.com/shop/api/actions/runs/7/job/1","output":{}},
		{"id":4,"name":"gone","status":"completed","conclusion":"cancelled","completed_at":"2026-11-28T10:00:00Z","html_url":"","details_url":"","output":{}}]}`)
	r.answers(comments, `"c1"`, `[
		{"id":21,"user":{"login":"ann"},"author_association":"OWNER","path":"a.go","line":7,"body":"Why?","html_url":"u21","created_at":"2026-11-28T10:05:00Z"},
		{"id":22,"user":{"login":"bob"},"author_association":"NONE","path":"b.go","line":null,"body":"No.","html_url":"u22","created_at":"2026-11-28T10:04:00Z"},
		{"id":23,"user":null,"author_association":"MEMBER","path":"b.go","line":1,"body":"Done.","html_url":"u23","created_at":"2026-11-28T10:03:00Z"}]`)
	r.answers(reviews, `"r1"`, `[
		{"id":31,"user":{"login":"ann"},"author_association":"OWNER","state":"CHANGES_REQUESTED","body":"Not yet.","html_url":"u31","submitted_at":"2026-11-28T10:00:00Z"},
		{"id":32,"user":{"login":"bob"},"author_association":"NONE","state":"CHANGES_REQUESTED","body":"Old.","html_url":"u32","submitted_at":"2026-11-28T10:00:00Z"},
		{"id":33,"user":{"login":"ann"},"author_association":"OWNER","state":"COMMENTED","body":"","html_url":"u33","submitted_at":"2026-11-28T10:05:00Z"},
		{"id":34,"user":{"login":"bob"},"author_association":"NONE","state":"APPROVED","body":"Good.","html_url":"u34","submitted_at":"2026-11-28T10:06:00Z"}]`)
	thread := `{"isResolved":%t,"comments":{"nodes":[{"databaseId":%d}]}}`
	page := `{"data":{"repository":{"pullRequest":{"reviewThreads":{"pageInfo":{"hasNextPage":%t,"endCursor":"next"},"nodes":[%s]}}}}}`
	r.answers("graphql", `"g1"`, fmt.Sprintf(page, true, fmt.Sprintf(thread, false, 21)))
	r.answers("graphql-next", `"g2"`, fmt.Sprintf(page, false, fmt.Sprintf(thread, true, 23)))
}

var never = time.Time{}

// TestRead checks what is read of an open pull request, and that what has not changed is only
// asked whether it has.
func TestRead(t *testing.T) {
	r := newRoom(t)
	r.open()
	x := r.reader(onGitHub)
	want := &PullRequest{Number: 12, URL: "https://github.com/shop/api/pull/12", Open: true, Base: "main", Head: "c0ffee",
		Checks: []Check{
			{ID: 3, Name: "slow", URL: "https://github.com/shop/api/runs/3", Job: 3},
			{ID: 4, Name: "gone", Done: true, At: time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)},
			{ID: 1, Name: "test", URL: "https://github.com/shop/api/runs/1", Done: true, Failed: true, Job: 1, At: time.Date(2026, 11, 28, 10, 1, 0, 0, time.UTC)},
			{ID: 2, Name: "lint", URL: "https://github.com/shop/api/runs/2", Done: true, Failed: true, Says: "Two faults\nin a.go", At: time.Date(2026, 11, 28, 10, 2, 0, 0, time.UTC)},
		},
		Comments: []Comment{
			{"review:31", "ann", "OWNER", "", 0, "Not yet.", "u31", time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC), true},
			{"comment:22", "bob", "NONE", "b.go", 0, "No.", "u22", time.Date(2026, 11, 28, 10, 4, 0, 0, time.UTC), false},
			{"comment:21", "ann", "OWNER", "a.go", 7, "Why?", "u21", time.Date(2026, 11, 28, 10, 5, 0, 0, time.UTC), false},
		}}
	for i, asked := range [][]string{
		{pulls, checks, comments, "graphql", "graphql-next", reviews},
		{pulls + `#"p1"`, checks + `#"k1"`, comments + `#"c1"`, "graphql", "graphql-next", reviews + `#"r1"`},
	} {
		got, err := x.Read(t.Context(), never)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("read %d: %s", i+1, d)
		}
		if d := cmp.Diff(asked, r.calls()); d != "" {
			t.Errorf("read %d: %s", i+1, d)
		}
	}

	r.answers(comments, `"c2"`, `[]`) // and so there is nothing that could be resolved
	r.answers(reviews, `"r2"`, `[]`)
	got, err := x.Read(t.Context(), never)
	if err != nil || len(got.Comments) > 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if d := cmp.Diff([]string{pulls + `#"p1"`, checks + `#"k1"`, comments + `#"c1"`, reviews + `#"r1"`}, r.calls()); d != "" {
		t.Error(d)
	}
}

func TestReadClosed(t *testing.T) {
	r := newRoom(t)
	x := r.reader(onGitHub)
	before, after := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	r.answers(pulls, `"1"`, `[{"number":12,"html_url":"u","state":"closed","merged_at":"2026-11-28T10:00:00Z","closed_at":"2026-11-28T10:00:00Z","merge_commit_sha":"beef","head":{"sha":"c0ffee"},"base":{"ref":"main"}}]`)
	want := &PullRequest{Number: 12, URL: "u", Base: "main", Head: "c0ffee", Merged: "beef", MergedAt: time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)}
	if got, err := x.Read(t.Context(), before); err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	if got, err := x.Read(t.Context(), after); err != nil || got != nil {
		t.Errorf("that of another session: %+v, %v", got, err)
	}
	r.answers(pulls, `"2"`, `[]`)
	if got, err := x.Read(t.Context(), before); err != nil || got != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestLimits checks that the rest of a limit is left to others, until the server counts again.
func TestLimits(t *testing.T) {
	for prefix, by := range map[string]struct{ remote, path, headers string }{
		"gh":   {onGitHub, pulls, "X-Ratelimit"},
		"glab": {onGitLab, mergeRequests, "Ratelimit"},
	} {
		head := "HTTP/2.0 %s\n" + by.headers + "-Limit: 5000\r\n" + by.headers + "-Remaining: %d\r\n" + by.headers + "-Reset: %d\r\n%s\r\n[]"
		for name, c := range map[string]struct {
			status, more string
			left         int
			reset        time.Duration
			first        bool // that answer is one
			wait         time.Duration
		}{
			"enough":             {"200 OK", "", 501, 20 * time.Minute, true, 0},
			"nearly used up":     {"200 OK", "", 500, 20 * time.Minute, true, 20 * time.Minute},
			"used up":            {"403 Forbidden", "", 0, 20 * time.Minute, false, 20 * time.Minute},
			"too fast":           {"429 Too Many Requests", "Retry-After: 90\r\n", 4000, 20 * time.Minute, false, 90 * time.Second},
			"too fast, too":      {"403 Forbidden", "Retry-After: 60\r\n", 4000, 20 * time.Minute, false, time.Minute},
			"until when":         {"429 Too Many Requests", "", 4000, 20 * time.Minute, false, blockedFor},
			"for years":          {"200 OK", "", 500, 100000 * time.Hour, true, time.Hour},
			"until the past":     {"403 Forbidden", "", 0, -time.Hour, false, blockedFor},
			"too fast for years": {"429 Too Many Requests", "Retry-After: 9223372036854775807\r\n", 4000, 20 * time.Minute, false, time.Hour},
			"not allowed":        {"403 Forbidden", "", 4000, 20 * time.Minute, false, 0},
		} {
			t.Run(prefix+" "+name, func(t *testing.T) {
				r := newRoom(t)
				r.raw(by.path, fmt.Sprintf(head, c.status, c.left, r.now.Add(c.reset).Unix(), c.more))
				x := r.reader(by.remote)
				_, err := x.Read(t.Context(), never)
				if limited, is := errors.AsType[*LimitedError](err); (err == nil) != c.first || is != (!c.first && c.wait > 0) || is && !limited.Until.Equal(r.now.Add(c.wait)) {
					t.Errorf("first: %v", err)
				}
				r.answers(by.path, `"1"`, "[]")
				r.now = r.now.Add(c.wait - time.Second)
				if _, err = x.Read(t.Context(), never); (err != nil) != (c.wait > 0) {
					t.Errorf("before: %v", err)
				}
				r.now = r.now.Add(time.Second)
				if _, err = x.Read(t.Context(), never); err != nil {
					t.Errorf("after: %v", err)
				}
			})
		}
	}
}

func TestFaults(t *testing.T) {
	r := newRoom(t)
	x := r.reader(onGitHub)
	for name, c := range map[string]struct{ text, want string }{
		"nothing":    {"", "ask github.com for " + pulls + ": gh: refused"},
		"no answer":  {"HTTP/2.0 what\n\r\n", "ask github.com for " + pulls + ": gh: refused"},
		"no JSON":    {"HTTP/2.0 200 OK\nEtag: 1\r\n\r\n<html>", "read the answer of github.com to " + pulls + ": invalid character '<' looking for beginning of value"},
		"no access":  {"HTTP/2.0 401 Unauthorized\nEtag: 1\r\n\r\n{}", "ask github.com for " + pulls + ": gh: refused"},
		"unasked":    {"HTTP/2.0 304 Not Modified\nEtag: 1\r\n\r\n", "ask github.com for " + pulls + ": gh: refused"},
		"other JSON": {"HTTP/2.0 200 OK\nEtag: 1\r\n\r\n{}", "read the answer of github.com to " + pulls + ": json: cannot unmarshal object into Go value of type []forge.pull"},
	} {
		r.raw(pulls, c.text)
		if _, err := x.Read(t.Context(), never); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	x.tool.Environ = environ.Vars{"PATH=/nowhere"}
	if _, err := x.Read(t.Context(), never); err != error(NoToolError("gh")) { //nolint:errorlint // as it is
		t.Errorf("without gh: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Read(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	for _, remote := range []string{"git@gitlab.com:api.git", "git@codeberg.org:shop/api.git", "/srv/api.git", "https://github.com/api", "https://github.com/a/b/c"} {
		if _, err := NewReader(x.tool, PlaceOf(remote), "b"); !errors.Is(err, ErrUnread) {
			t.Errorf("%s: %v", remote, err)
		}
	}
}

func TestLog(t *testing.T) {
	r := newRoom(t)
	x := r.reader(onGitHub)
	r.raw("repos/shop/api/actions/jobs/1/logs", "line 1\n2026-11-28T10:00:00.1234567Z FAIL\n2026-11-28T10:00:01.1234567Z ##[error]Process completed with exit code 2.\n2026-11-28T10:00:01.1234567Z Post job cleanup.\n")
	if text, err := x.Log(t.Context(), 1); err != nil || text != "line 1\nFAIL\n##[error]Process completed with exit code 2." {
		t.Errorf("%q, %v", text, err)
	}
	r.raw("repos/shop/api/actions/jobs/2/logs", "line 1\n"+strings.Repeat("x", 3*maxLog)+"\nend")
	if text, err := x.Log(t.Context(), 2); err != nil || len(text) > 2*maxLog || !strings.HasSuffix(text, "\nend") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := x.Log(t.Context(), 3); err == nil || err.Error() != "gh: Not Found (HTTP 404)" {
		t.Errorf("a log that is gone: %v", err)
	}
}

func TestContains(t *testing.T) {
	r := newRoom(t)
	x := r.reader(onGitHub)
	path := "repos/shop/api/compare/mine...head?per_page=1&page=2"
	for status, want := range map[string]bool{"ahead": true, "identical": true, "behind": false, "diverged": false} {
		r.answers(path, `"1"`, `{"status":"`+status+`"}`)
		if got, err := x.Contains(t.Context(), "head", "mine"); err != nil || got != want {
			t.Errorf("%s: %v, %v", status, got, err)
		}
	}
	if got, err := x.Contains(t.Context(), "head", "local"); err != nil || got {
		t.Errorf("a commit that nobody pushed: %v, %v", got, err)
	}
	if got, err := x.Contains(t.Context(), "same", "same"); err != nil || !got {
		t.Errorf("itself: %v, %v", got, err)
	}
}
