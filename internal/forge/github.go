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

// gitHub reads a pull request of GitHub.
type gitHub struct{ *Reader }

// user is who wrote something; GitHub has none where the account is gone.
type user struct {
	Login string `json:"login"`
}

type pull struct {
	Number   int       `json:"number"`
	URL      string    `json:"html_url"`
	State    string    `json:"state"`
	MergedAt time.Time `json:"merged_at"`
	ClosedAt time.Time `json:"closed_at"`
	Merged   string    `json:"merge_commit_sha"` // of an open one: of a merge that is only tried
	Head     struct {
		SHA string `json:"sha"`
	} `json:"head"`
	Base struct {
		Ref string `json:"ref"`
	} `json:"base"`
}

func (r gitHub) read(ctx context.Context, since time.Time) (*PullRequest, error) {
	owner, _, _ := strings.Cut(r.repo, "/")
	all, err := get[[]pull](ctx, r.Reader, "repos/"+r.repo+"/pulls?state=all&sort=created&direction=desc&per_page=20&head="+url.QueryEscape(owner+":"+r.branch))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(p pull) bool { return p.State == "open" })
	if i < 0 {
		i = slices.IndexFunc(all, func(p pull) bool { return p.ClosedAt.After(since) })
	}
	if i < 0 {
		return nil, nil
	}
	p := all[i]
	x := &PullRequest{Number: p.Number, URL: p.URL, Open: p.State == "open", Base: p.Base.Ref, Head: p.Head.SHA}
	if !p.MergedAt.IsZero() {
		x.Merged, x.MergedAt = p.Merged, p.MergedAt
	}
	if x.Open {
		if x.Checks, err = r.checks(ctx, x.Head); err == nil {
			x.Comments, err = r.comments(ctx, x.Number)
		}
	}
	return x, err
}

type checkRun struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Status     string    `json:"status"`
	Conclusion string    `json:"conclusion"`
	Details    string    `json:"details_url"`
	URL        string    `json:"html_url"`
	At         time.Time `json:"completed_at"`
	Output     struct {
		Title   prose `json:"title"`
		Summary prose `json:"summary"`
	} `json:"output"`
}

// job matches the address of a job of GitHub Actions.
var job = regexp.MustCompile(`/actions/runs/\d+/jobs?/(\d+)`)

// checks returns the checks of a commit.
func (r gitHub) checks(ctx context.Context, commit string) (all []Check, err error) {
	for page := 1; page <= maxPages; page++ {
		next, err := get[struct {
			Runs []checkRun `json:"check_runs"`
		}](ctx, r.Reader, fmt.Sprintf("repos/%s/commits/%s/check-runs?filter=latest&per_page=%d&page=%d", r.repo, commit, pageSize, page))
		if err != nil {
			return nil, err
		}
		for _, c := range next.Runs {
			x := Check{ID: c.ID, Name: c.Name, URL: cmp.Or(c.URL, c.Details), Done: c.Status == "completed", At: c.At,
				Failed: slices.Contains([]string{"failure", "timed_out", "startup_failure"}, c.Conclusion),
				Says:   strings.TrimSpace(string(c.Output.Title + "\n" + c.Output.Summary))}
			if m := job.FindStringSubmatch(c.Details); m != nil {
				x.Job, _ = strconv.ParseInt(m[1], 10, 64) // too long: it has no log
			}
			all = append(all, x)
		}
		if len(next.Runs) < pageSize {
			break
		}
	}
	return all, nil
}

type reviewComment struct {
	ID          int64     `json:"id"`
	User        *user     `json:"user"`
	Association string    `json:"author_association"`
	Path        string    `json:"path"`
	Line        int       `json:"line"`
	Body        prose     `json:"body"`
	URL         string    `json:"html_url"`
	At          time.Time `json:"created_at"`
}

type review struct {
	ID          int64     `json:"id"`
	User        *user     `json:"user"`
	Association string    `json:"author_association"`
	State       string    `json:"state"`
	Body        prose     `json:"body"`
	URL         string    `json:"html_url"`
	At          time.Time `json:"submitted_at"`
}

func (u *user) login() string {
	if u == nil {
		return "ghost" // as GitHub shows an account that is gone
	}
	return u.Login
}

// comments returns the unresolved requests of reviews.
func (r gitHub) comments(ctx context.Context, number int) (all []Comment, err error) {
	path := fmt.Sprintf("repos/%s/pulls/%d/", r.repo, number)
	written, err := list[reviewComment](ctx, r.Reader, path+"comments")
	if err != nil {
		return nil, err
	}
	var resolved map[int64]bool
	if len(written) > 0 { // only then there are threads
		if resolved, err = r.resolved(ctx, number); err != nil {
			return nil, err
		}
	}
	for _, c := range written {
		if !resolved[c.ID] {
			all = append(all, Comment{"comment:" + strconv.FormatInt(c.ID, 10), c.User.login(), c.Association, c.Path, c.Line, string(c.Body), c.URL, c.At, false})
		}
	}
	reviews, err := list[review](ctx, r.Reader, path+"reviews")
	last := map[string]review{} // by who decided
	for _, v := range reviews {
		if v.State == "APPROVED" || v.State == "CHANGES_REQUESTED" || v.State == "DISMISSED" {
			last[v.User.login()] = v
		}
	}
	for _, v := range reviews {
		if v.State == "CHANGES_REQUESTED" && last[v.User.login()].ID == v.ID {
			all = append(all, Comment{"review:" + strconv.FormatInt(v.ID, 10), v.User.login(), v.Association, "", 0, string(v.Body), v.URL, v.At, true})
		}
	}
	return all, err
}

// threads reads what the other API lacks.
const threads = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes { isResolved comments(first: 100) { nodes { databaseId } } }
      }
    }
  }
}`

// resolved returns the comments of threads that are resolved.
func (r gitHub) resolved(ctx context.Context, number int) (map[int64]bool, error) {
	found := map[int64]bool{}
	owner, name, _ := strings.Cut(r.repo, "/")
	texts := []string{"query=" + threads, "owner=" + owner, "name=" + name}
	for range maxPages {
		a, err := r.tool.ask(ctx, question{by: r.by, host: r.host, path: graphql, texts: texts, number: number})
		if err != nil {
			return nil, err
		}
		var x struct {
			Errors []struct{ Message string }
			Data   struct {
				Repository struct {
					PullRequest struct {
						ReviewThreads struct {
							PageInfo struct {
								HasNextPage bool
								EndCursor   string
							}
							Nodes []struct {
								IsResolved bool
								Comments   struct{ Nodes []struct{ DatabaseID int64 } }
							}
						}
					}
				}
			}
		}
		if err := json.Unmarshal(a.body, &x); err != nil {
			return nil, fmt.Errorf("read the answer of %s about reviews: %w", r.host, err)
		}
		if len(x.Errors) > 0 {
			return nil, fmt.Errorf("ask %s about reviews: %s", r.host, x.Errors[0].Message)
		}
		t := x.Data.Repository.PullRequest.ReviewThreads
		for _, n := range t.Nodes {
			for _, c := range n.Comments.Nodes {
				found[c.DatabaseID] = n.IsResolved
			}
		}
		if !t.PageInfo.HasNextPage {
			break
		}
		texts = append(texts[:3:3], "after="+t.PageInfo.EndCursor)
	}
	return found, nil
}

// stamped matches the time that GitHub Actions puts before each line of a log.
var stamped = regexp.MustCompile(`(?m)^\x{feff}?\d{4}-\d\d-\d\dT[\d:.]+Z `)

// log returns the end of the log of a job, up to its last error: what comes after that cleans up.
func (r gitHub) log(ctx context.Context, job int64) (string, error) {
	text, err := r.tool.log(ctx, r.question(fmt.Sprintf("repos/%s/actions/jobs/%d/logs", r.repo, job)))
	if err != nil {
		return "", err
	}
	text = stamped.ReplaceAllString(text, "")
	if i := strings.LastIndex(text, "##[error]"); i >= 0 {
		if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
			text = text[:i+end]
		}
	}
	return text, nil
}

func (r gitHub) contains(ctx context.Context, commit, other string) (bool, error) {
	// The second page is without the files, which may be many.
	a, err := r.tool.ask(ctx, r.question(fmt.Sprintf("repos/%s/compare/%s...%s?per_page=1&page=2", r.repo, other, commit)))
	if refused(err, http.StatusNotFound) { // not pushed yet
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var x struct{ Status string }
	if err := json.Unmarshal(a.body, &x); err != nil {
		return false, fmt.Errorf("read the answer of %s about %s: %w", r.host, other, err)
	}
	return x.Status == "ahead" || x.Status == "identical", nil
}
