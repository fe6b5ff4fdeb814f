package forge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gitLab reads a merge request of GitLab, by version 4 of its API. GitLab compares the ETag of an
// answer, but counts the request for its limit all the same.
type gitLab struct{ *Reader }

// project returns a path of the project.
func (r gitLab) project(format string, args ...any) string {
	return "projects/" + url.PathEscape(r.repo) + "/" + fmt.Sprintf(format, args...)
}

type mergeRequest struct {
	Number   int       `json:"iid"`
	URL      string    `json:"web_url"`
	State    string    `json:"state"`
	MergedAt time.Time `json:"merged_at"`
	ClosedAt time.Time `json:"closed_at"`
	Merge    string    `json:"merge_commit_sha"`  // empty after a fast-forward
	Squash   string    `json:"squash_commit_sha"` // empty if nothing was squashed
	Head     string    `json:"sha"`
	Base     string    `json:"target_branch"`
	From     int64     `json:"source_project_id"`
	To       int64     `json:"target_project_id"`
	Pipeline *pipeline `json:"head_pipeline"` // null in lists
}

// open reports whether it is not decided yet. GitLab locks one while it merges it.
func (m mergeRequest) open() bool { return m.State == "opened" || m.State == "locked" }

func (r gitLab) read(ctx context.Context, since time.Time) (*PullRequest, error) {
	all, err := get[[]mergeRequest](ctx, r.Reader, r.project("merge_requests?state=all&order_by=created_at&sort=desc&per_page=20&source_branch=%s", url.QueryEscape(r.branch)))
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(m mergeRequest) bool { return m.From != m.To }) // a branch of that name in a fork
	i := slices.IndexFunc(all, mergeRequest.open)
	if i < 0 {
		i = slices.IndexFunc(all, func(m mergeRequest) bool { return m.ClosedAt.After(since) || m.MergedAt.After(since) })
	}
	if i < 0 {
		return nil, nil
	}
	m := all[i]
	if m.open() {
		if m, err = get[mergeRequest](ctx, r.Reader, r.project("merge_requests/%d", m.Number)); err != nil {
			return nil, err
		}
	}
	x := &PullRequest{Number: m.Number, URL: m.URL, Open: m.open(), Base: m.Base, Head: m.Head}
	if m.State == "merged" {
		x.Merged, x.MergedAt = cmp.Or(m.Merge, m.Squash, m.Head), m.MergedAt
	}
	if x.Open {
		if x.Checks, err = r.checks(ctx, m); err == nil {
			x.Comments, err = r.comments(ctx, m)
		}
	}
	return x, err
}

type pipeline struct {
	ID     int64     `json:"id"`
	Commit string    `json:"sha"`
	Status string    `json:"status"`
	URL    string    `json:"web_url"`
	At     time.Time `json:"updated_at"`
}

type pipelineJob struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Status  string    `json:"status"`
	Allowed bool      `json:"allow_failure"`
	URL     string    `json:"web_url"`
	At      time.Time `json:"finished_at"`
	Commit  struct {
		ID      string   `json:"id"`
		Parents []string `json:"parent_ids"`
	} `json:"commit"`
}

// of reports whether a job is of a commit, or of its merge with the target branch, which GitLab
// makes for pipelines of merged results. After a push the pipeline is that of the commit before.
func (j pipelineJob) of(commit string) bool {
	return j.Commit.ID == commit || len(j.Commit.Parents) > 1 && slices.Contains(j.Commit.Parents, commit)
}

// ended are the states in which a job or a pipeline does nothing more unless someone starts it.
var ended = []string{"success", "failed", "canceled", "skipped", "manual"}

const failed = "failed"

// checks returns the jobs of the pipeline of a merge request. A pipeline that failed by none of them,
// but by another one that it has started, is a check itself.
func (r gitLab) checks(ctx context.Context, m mergeRequest) (all []Check, err error) {
	p := m.Pipeline
	if p == nil {
		return nil, nil
	}
	jobs, err := list[pipelineJob](ctx, r.Reader, r.project("pipelines/%d/jobs", p.ID))
	if err != nil {
		return nil, err
	}
	over, known := slices.Contains(ended, p.Status), p.Commit == m.Head
	for _, j := range jobs {
		if known = known || j.of(m.Head); !known {
			return nil, nil
		}
		all = append(all, Check{ID: j.ID, Name: j.Name, URL: j.URL, Job: j.ID, At: j.At,
			Done: over || slices.Contains(ended, j.Status), Failed: j.Status == failed && !j.Allowed})
	}
	if p.Status == failed && known && !slices.ContainsFunc(all, func(c Check) bool { return c.Failed }) {
		all = append(all, Check{ID: -p.ID, Name: "pipeline", URL: p.URL, Done: true, Failed: true, At: p.At, Says: "None of its jobs failed: a pipeline that it started did, a job of another program, or its configuration is not valid."})
	}
	return all, nil
}

type discussion struct {
	Notes []note `json:"notes"`
}

type note struct {
	ID     int64 `json:"id"`
	Author struct {
		ID   int64  `json:"id"`
		Name string `json:"username"`
	} `json:"author"`
	Resolvable bool      `json:"resolvable"`
	Resolved   bool      `json:"resolved"`
	Body       prose     `json:"body"`
	At         time.Time `json:"created_at"`
	Position   struct {
		New  string `json:"new_path"`
		Old  string `json:"old_path"`
		Line int    `json:"new_line"` // null: the line was removed
		Was  int    `json:"old_line"`
	} `json:"position"` // null: it is about the whole merge request
}

// comments returns the notes of discussions that are not resolved.
func (r gitLab) comments(ctx context.Context, m mergeRequest) (all []Comment, err error) {
	discussions, err := list[discussion](ctx, r.Reader, r.project("merge_requests/%d/discussions", m.Number))
	if err != nil {
		return nil, err
	}
	known := map[int64]string{}
	for _, d := range discussions {
		for _, n := range d.Notes {
			if !n.Resolvable || n.Resolved {
				continue
			}
			association, is := known[n.Author.ID]
			if !is {
				if association, err = r.association(ctx, n.Author.ID); err != nil {
					return nil, err
				}
				known[n.Author.ID] = association
			}
			p, id := n.Position, strconv.FormatInt(n.ID, 10)
			all = append(all, Comment{"note:" + id, n.Author.Name, association, cmp.Or(p.New, p.Old), cmp.Or(p.Line, p.Was), string(n.Body), m.URL + "#note_" + id, n.At, false})
		}
	}
	return all, nil
}

// The access levels of GitLab from which on a member counts: https://docs.gitlab.com/api/members/#roles
const (
	developer = 30 // may push
	owner     = 50
)

// association returns the association of a user with the project in GitHub's words, by the access
// level, also one that a group gives.
func (r gitLab) association(ctx context.Context, user int64) (string, error) {
	member, err := get[struct {
		Level int `json:"access_level"`
	}](ctx, r.Reader, r.project("members/all/%d", user))
	switch {
	case refused(err, http.StatusNotFound):
		return "NONE", nil
	case err != nil:
		return "", err
	case member.Level >= owner:
		return "OWNER", nil
	case member.Level >= developer:
		return "MEMBER", nil
	}
	return "NONE", nil
}

// The marks that GitLab's runner puts into a log: the start and the end of a section, which a
// terminal overwrites, and the time and the stream before each line.
var (
	section = regexp.MustCompile(`(\x1b\[0K)?section_(start|end):\d+:[^\r\n]*\r?(\x1b\[0K)?`)
	stream  = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT[\d:.]+Z [0-9a-f]{2}[OE][ +]?`)
)

func (r gitLab) log(ctx context.Context, job int64) (string, error) {
	text, err := r.tool.log(ctx, r.question(r.project("jobs/%d/trace", job)))
	return section.ReplaceAllString(stream.ReplaceAllString(text, ""), ""), err
}

func (r gitLab) contains(ctx context.Context, commit, other string) (bool, error) {
	a, err := r.tool.ask(ctx, r.question(r.project("repository/merge_base?refs%%5B%%5D=%s&refs%%5B%%5D=%s", other, commit)))
	if refused(err, http.StatusBadRequest, http.StatusNotFound) { // one is not known, or they have nothing in common
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var x struct{ ID string }
	if err := json.Unmarshal(a.body, &x); err != nil {
		return false, fmt.Errorf("read the answer of %s about %s: %w", r.host, other, err)
	}
	return strings.EqualFold(x.ID, other), nil
}
