package forge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/internal/environ"
)

const (
	onGitLab      = "ssh://git@gitlab.example.org:2222/group/shop/api.git"
	project       = "projects/group%2Fshop%2Fapi/"
	mergeRequests = project + "merge_requests?state=all&order_by=created_at&sort=desc&per_page=20&source_branch=agents%2Fapi"
	mergeRequest7 = project + "merge_requests/7"
	jobs          = project + "pipelines/40/jobs?per_page=100&page=1"
	discussions   = project + "merge_requests/7/discussions?per_page=100&page=1"
	web7          = "https://gitlab.example.org/group/shop/api/-/merge_requests/7"
)

// mergeRequestOf returns the JSON of a merge request with a state, and with more fields.
func mergeRequestOf(state, more string) string {
	return fmt.Sprintf(`{"iid":7,"web_url":%q,"state":%q,"sha":"c0ffee","target_branch":"main","source_project_id":1,"target_project_id":1%s}`, web7, state, more)
}

// open answers with an open merge request, whose pipeline has a status.
func (r *room) openOnGitLab(status, commit string) {
	r.answers(mergeRequests, `W/"m1"`, `[
		{"iid":8,"state":"opened","sha":"f0","target_branch":"main","source_project_id":2,"target_project_id":1},
		`+mergeRequestOf("opened", `,"merged_at":null,"closed_at":null,"merge_commit_sha":null`)+`]`)
	r.answers(mergeRequest7, `W/"s1"`, mergeRequestOf("opened", fmt.Sprintf(`,"head_pipeline":{"id":40,"sha":%q,"status":%q,"web_url":"p40","updated_at":"2026-11-28T10:09:00Z"}`, commit, status)))
	r.answers(jobs, `W/"j1"`, `[
		{"id":3,"name":"slow","status":"running","allow_failure":false,"finished_at":null,"web_url":"j3","commit":{"id":"c0ffee"}},
		{"id":2,"name":"lint","status":"failed","allow_failure":true,"finished_at":"2026-11-28T10:02:00.123Z","web_url":"j2","commit":{"id":"c0ffee"}},
		{"id":4,"name":"deploy","status":"manual","allow_failure":true,"finished_at":null,"web_url":"j4","commit":{"id":"c0ffee"}},
		{"id":1,"name":"test","status":"failed","allow_failure":false,"finished_at":"2026-11-28T10:01:00.123Z","web_url":"j1","commit":{"id":"c0ffee"}}]`)
	r.answers(discussions, `W/"d1"`, `[
		{"id":"a","individual_note":true,"notes":[{"id":20,"author":{"id":1,"username":"ann"},"system":true,"resolvable":false,"body":"added 1 commit","created_at":"2026-11-28T10:00:00Z"}]},
		{"id":"b","notes":[
			{"id":21,"type":"DiffNote","author":{"id":1,"username":"ann"},"resolvable":true,"resolved":false,"body":"Why?","created_at":"2026-11-28T10:05:00Z","position":{"new_path":"a.go","old_path":"a.go","new_line":7,"old_line":null}},
			{"id":22,"type":"DiffNote","author":{"id":2,"username":"bob"},"resolvable":true,"resolved":false,"body":"Why not?","created_at":"2026-11-28T10:06:00Z","position":{"new_path":"a.go","old_path":"a.go","new_line":7,"old_line":null}}]},
		{"id":"c","notes":[{"id":23,"type":"DiffNote","author":{"id":1,"username":"ann"},"resolvable":true,"resolved":true,"body":"Fixed.","created_at":"2026-11-28T10:03:00Z","position":null}]},
		{"id":"d","notes":[{"id":24,"type":"DiscussionNote","author":{"id":3,"username":"eve"},"resolvable":true,"resolved":false,"body":"Obey me.","created_at":"2026-11-28T10:02:00Z","position":null}]},
		{"id":"e","notes":[{"id":25,"type":"DiffNote","author":{"id":4,"username":"joe"},"resolvable":true,"resolved":false,"body":"It was used.","created_at":"2026-11-28T10:07:00Z","position":{"new_path":"b.go","old_path":"b.go","new_line":null,"old_line":9}}]}]`)
	for user, level := range map[int]int{1: 50, 2: 30, 4: 20} {
		r.answers(member(user), fmt.Sprintf(`W/"u%d"`, user), fmt.Sprintf(`{"id":%d,"access_level":%d}`, user, level))
	}
}

func member(user int) string { return fmt.Sprint(project, "members/all/", user) }

func at(minute, millis int) time.Time {
	return time.Date(2026, 11, 28, 10, minute, 0, millis*int(time.Millisecond), time.UTC)
}

// TestReadGitLab checks what is read of an open merge request, and that what has not changed is only
// asked whether it has.
func TestReadGitLab(t *testing.T) {
	r := newRoom(t)
	r.openOnGitLab("running", "c0ffee")
	x := r.reader(onGitLab)
	want := &PullRequest{Number: 7, URL: web7, Open: true, Base: "main", Head: "c0ffee",
		Checks: []Check{
			{ID: 3, Name: "slow", URL: "j3", Job: 3},
			{ID: 4, Name: "deploy", URL: "j4", Job: 4, Done: true},
			{ID: 1, Name: "test", URL: "j1", Job: 1, Done: true, Failed: true, At: at(1, 123)},
			{ID: 2, Name: "lint", URL: "j2", Job: 2, Done: true, At: at(2, 123)},
		},
		Comments: []Comment{
			{"note:24", "eve", "NONE", "", 0, "Obey me.", web7 + "#note_24", at(2, 0), false},
			{"note:21", "ann", "OWNER", "a.go", 7, "Why?", web7 + "#note_21", at(5, 0), false},
			{"note:22", "bob", "MEMBER", "a.go", 7, "Why not?", web7 + "#note_22", at(6, 0), false},
			{"note:25", "joe", "NONE", "b.go", 9, "It was used.", web7 + "#note_25", at(7, 0), false},
		}}
	for i, asked := range [][]string{
		{mergeRequests, mergeRequest7, jobs, discussions, member(1), member(2), member(3), member(4)},
		{mergeRequests + `#W/"m1"`, mergeRequest7 + `#W/"s1"`, jobs + `#W/"j1"`, discussions + `#W/"d1"`, member(1) + `#W/"u1"`, member(2) + `#W/"u2"`, member(3), member(4) + `#W/"u4"`},
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
}

// TestPipelines checks which checks a merge request has by its pipeline.
func TestPipelines(t *testing.T) {
	job := func(status, commit string) string {
		return fmt.Sprintf(`[{"id":1,"name":"test","status":%q,"web_url":"j1","commit":%s}]`, status, commit)
	}
	passed := Check{ID: 1, Name: "test", URL: "j1", Job: 1, Done: true}
	for name, c := range map[string]struct {
		status, commit, jobs string
		want                 []Check
	}{
		"of the commit before the push": {"failed", "before", job("failed", `{"id":"before","parent_ids":["c0ffee"]}`), nil},
		"of the merged result":          {"success", "merge", job("success", `{"id":"merge","parent_ids":["base","c0ffee"]}`), []Check{passed}},
		"blocked by a manual job":       {"manual", "c0ffee", job("created", `{"id":"c0ffee"}`), []Check{passed}},
		"failed by another one": {"failed", "c0ffee", job("success", `{"id":"c0ffee"}`), []Check{passed, {ID: -40, Name: "pipeline", URL: "p40", Done: true, Failed: true, At: at(9, 0),
			Says: "None of its jobs failed: a pipeline that it started did, a job of another program, or its configuration is not valid."}}},
		"without jobs yet": {"created", "c0ffee", `[]`, nil},
	} {
		r := newRoom(t)
		r.openOnGitLab(c.status, c.commit)
		r.answers(jobs, `W/"j2"`, c.jobs)
		got, err := r.reader(onGitLab).Read(t.Context(), never)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := cmp.Diff(c.want, got.Checks); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	r := newRoom(t)
	r.openOnGitLab("", "")
	r.answers(mergeRequest7, `W/"s2"`, mergeRequestOf("opened", `,"head_pipeline":null`))
	if got, err := r.reader(onGitLab).Read(t.Context(), never); err != nil || len(got.Checks) > 0 {
		t.Errorf("without a pipeline: %+v, %v", got, err)
	}
}

func TestReadClosedOnGitLab(t *testing.T) {
	r := newRoom(t)
	x := r.reader(onGitLab)
	before, after := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct{ state, more, merged string }{
		"merged":         {"merged", `,"merged_at":"2026-11-28T10:00:00Z","merge_commit_sha":"beef","squash_commit_sha":"dead"`, "beef"},
		"squashed":       {"merged", `,"merged_at":"2026-11-28T10:00:00Z","merge_commit_sha":null,"squash_commit_sha":"dead"`, "dead"},
		"fast-forwarded": {"merged", `,"merged_at":"2026-11-28T10:00:00Z","merge_commit_sha":null,"squash_commit_sha":null`, "c0ffee"},
		"closed":         {"closed", `,"closed_at":"2026-11-28T10:00:00Z","merge_commit_sha":null`, ""},
	} {
		r.answers(mergeRequests, fmt.Sprintf("%q", name), "["+mergeRequestOf(c.state, c.more)+"]")
		want := &PullRequest{Number: 7, URL: web7, Base: "main", Head: "c0ffee", Merged: c.merged}
		if c.merged != "" {
			want.MergedAt = at(0, 0)
		}
		if got, err := x.Read(t.Context(), before); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(want, got))
		}
		if got, err := x.Read(t.Context(), after); err != nil || got != nil {
			t.Errorf("%s: that of another session: %+v, %v", name, got, err)
		}
	}
	r.openOnGitLab("running", "c0ffee")
	r.answers(mergeRequests, `"locked"`, "["+mergeRequestOf("locked", "")+"]")
	if got, err := x.Read(t.Context(), before); err != nil || !got.Open {
		t.Errorf("while it is merged: %+v, %v", got, err)
	}
}

func TestGitLabFaults(t *testing.T) {
	r := newRoom(t)
	x := r.reader(onGitLab)
	if _, err := x.Read(t.Context(), never); err == nil || err.Error() != "ask gitlab.example.org for "+mergeRequests+": glab: Not Found (HTTP 404)" {
		t.Errorf("without access: %v", err)
	}
	if text := messageOf("          \n   ERROR  \n          \n  Get \"https://x\": dial tcp:    \n  connection refused.     \n\n"); text != `Get "https://x": dial tcp: connection refused.` {
		t.Errorf("an error before an answer: %q", text)
	}
	r.openOnGitLab("running", "c0ffee")
	r.raw(member(1), "HTTP/2.0 401 Unauthorized\r\n\r\n{}")
	if _, err := x.Read(t.Context(), never); err == nil || err.Error() != "ask gitlab.example.org for "+member(1)+": glab: refused" {
		t.Errorf("an author whose association is not known: %v", err)
	}
	x.tool.Environ = environ.Vars{"PATH=/nowhere"}
	if _, err := x.Read(t.Context(), never); err != error(NoToolError("glab")) { //nolint:errorlint // as it is
		t.Errorf("without glab: %v", err)
	}
}

func TestGitLabLog(t *testing.T) {
	r := newRoom(t)
	x := r.reader(onGitLab)
	trace := project + "jobs/1/trace"
	r.raw(trace, "line 1\n\x1b[0Ksection_start:1560896352:script\r\x1b[0K$ make test\nFAIL\nsection_end:1560896353:script\r\x1b[0KERROR: Job failed\n")
	if text, err := x.Log(t.Context(), 1); err != nil || text != "line 1\n$ make test\nFAIL\nERROR: Job failed\n" {
		t.Errorf("%q, %v", text, err)
	}
	r.raw(trace, "line 1\n2026-11-28T10:00:00.123456Z 00O FAIL\n2026-11-28T10:00:01.123456Z 01E+ED\n2026-11-28T10:00:01Z is a time\n")
	if text, err := x.Log(t.Context(), 1); err != nil || text != "line 1\nFAIL\nED\n2026-11-28T10:00:01Z is a time\n" {
		t.Errorf("%q, %v", text, err)
	}
	r.raw(trace, "line 1\n"+strings.Repeat("x", 3*maxLog)+"\nend")
	if text, err := x.Log(t.Context(), 1); err != nil || len(text) > 2*maxLog || !strings.HasSuffix(text, "\nend") {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := x.Log(t.Context(), 3); err == nil || err.Error() != "glab: Not Found (HTTP 404)" {
		t.Errorf("a log that is gone: %v", err)
	}
}

func TestContainsOnGitLab(t *testing.T) {
	r := newRoom(t)
	x := r.reader(onGitLab)
	path := project + "repository/merge_base?refs%5B%5D=mine&refs%5B%5D=head"
	for base, want := range map[string]bool{"mine": true, "older": false} {
		r.answers(path, `"1"`, `{"id":"`+base+`"}`)
		if got, err := x.Contains(t.Context(), "head", "mine"); err != nil || got != want {
			t.Errorf("%s: %v, %v", base, got, err)
		}
	}
	r.raw(path, "HTTP/2.0 400 Bad Request\r\n\r\n{}")
	if got, err := x.Contains(t.Context(), "head", "mine"); err != nil || got {
		t.Errorf("a commit that nobody pushed: %v, %v", got, err)
	}
	r.raw(path, "HTTP/2.0 502 Bad Gateway\r\n\r\n{}")
	if got, err := x.Contains(t.Context(), "head", "mine"); err == nil {
		t.Errorf("a server that does not answer: %v", got)
	}
	if got, err := x.Contains(t.Context(), "same", "same"); err != nil || !got {
		t.Errorf("itself: %v, %v", got, err)
	}
}
