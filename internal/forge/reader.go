package forge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
)

// PullRequest is the current state of a pull request, or of a merge request as GitLab calls it.
type PullRequest struct {
	Number   int
	URL      string
	Open     bool
	Base     string // the branch that it is to be merged into
	Head     string // its commit
	Merged   string // the commit of the base that has it; empty: it is not merged
	MergedAt time.Time
	Checks   []Check   // of Head
	Comments []Comment // that are not resolved, the oldest first
}

// Check is the last run of a check, or a job of GitLab.
type Check struct {
	ID     int64 // negative: that of a pipeline of GitLab
	Name   string
	URL    string
	Done   bool
	Failed bool
	At     time.Time // when it ended
	Job    int64     // whose log the server has; 0: it is another program's
	Says   string    // of that program
}

// Comment is a comment of a review on a file, or a review that requests changes.
type Comment struct {
	ID          string
	Author      string
	Association string // of the author with the repository: OWNER, MEMBER, NONE
	Path        string // empty: it is about no file
	Line        int    // 0: it is about the file, or about lines that have changed since
	Body        string
	URL         string
	At          time.Time
	Requests    bool // it is a review that requests changes
}

const (
	maxPages = 10      // of a list with pageSize entries each
	pageSize = 100     // the most that both GitHub and GitLab answer with
	maxText  = 8 << 10 // bytes of a user's text
)

// Reader reads the pull request of one branch again and again. It is for one goroutine.
type Reader struct {
	tool   *Tool
	by     *program
	host   string
	repo   string // owner/name, or of GitLab group/subgroup/name
	branch string
	server server
	cache  map[string]kept
	used   map[string]bool // of the cache, in this round
}

// server is how the servers of one kind are asked.
type server interface {
	read(ctx context.Context, since time.Time) (*PullRequest, error)
	log(ctx context.Context, job int64) (string, error)
	contains(ctx context.Context, commit, other string) (bool, error)
}

// kept is the last answer to a question.
type kept struct {
	etag  string
	value any
}

// ErrUnread reports that pull requests of a server are not read.
var ErrUnread = errors.New("only pull requests on GitHub and merge requests on GitLab are read")

// NewReader returns a reader of the pull request of a branch. The error is ErrUnread if its
// repository is neither on GitHub nor on GitLab.
func NewReader(t *Tool, p Place, branch string) (*Reader, error) {
	u, err := url.Parse(p.Web)
	if err != nil {
		return nil, ErrUnread
	}
	r := &Reader{tool: t, host: u.Host, repo: strings.Trim(u.Path, "/"), branch: branch, cache: map[string]kept{}}
	parts := strings.Split(r.repo, "/")
	switch {
	case p.Kind == GitHub && len(parts) == 2:
		r.by, r.server = gh, gitHub{r}
	case p.Kind == GitLab && len(parts) >= 2:
		// glab takes no port: its settings have the address of the API for a host.
		r.by, r.server, r.host = glab, gitLab{r}, u.Hostname()
	default:
		return nil, ErrUnread
	}
	for _, part := range parts {
		if part == "" || strings.ContainsAny(part, "?#") {
			return nil, ErrUnread
		}
	}
	return r, nil
}

// Read returns the pull request of the branch: an open one, or else the last that was closed after
// since; nil: there is none.
func (r *Reader) Read(ctx context.Context, since time.Time) (*PullRequest, error) {
	r.used = map[string]bool{}
	x, err := r.server.read(ctx, since)
	if x != nil {
		slices.SortStableFunc(x.Checks, func(a, b Check) int { return a.At.Compare(b.At) })
		slices.SortStableFunc(x.Comments, func(a, b Comment) int { return a.At.Compare(b.At) })
	}
	maps.DeleteFunc(r.cache, func(path string, _ kept) bool { return err == nil && !r.used[path] })
	return x, err
}

// Log returns the end of the log of a job.
func (r *Reader) Log(ctx context.Context, job int64) (string, error) { return r.server.log(ctx, job) }

// Contains reports whether one commit has another one. A commit that the server does not know has
// not been pushed, so no other one has it.
func (r *Reader) Contains(ctx context.Context, commit, other string) (bool, error) {
	if commit == other {
		return true, nil
	}
	return r.server.contains(ctx, commit, other)
}

// Same reports whether two readers read the same branch.
func (r *Reader) Same(s *Reader) bool {
	return r.tool == s.tool && r.by == s.by && r.host == s.host && r.repo == s.repo && r.branch == s.branch
}

func (r *Reader) question(path string) question {
	return question{by: r.by, host: r.host, path: path}
}

// get returns a decoded answer. If it has an earlier one, it only asks for changes.
func get[T any](ctx context.Context, r *Reader, path string) (value T, err error) {
	r.used[path] = true
	last := r.cache[path]
	q := r.question(path)
	q.etag = last.etag
	a, err := r.tool.ask(ctx, q)
	if err != nil {
		return value, err
	}
	if a.status == http.StatusNotModified {
		return last.value.(T), nil
	}
	if err = json.Unmarshal(a.body, &value); err != nil {
		return value, fmt.Errorf("read the answer of %s to %s: %w", r.host, path, err)
	}
	r.cache[path] = kept{a.header.Get("ETag"), value}
	return value, nil
}

// list returns the entries of all pages.
func list[T any](ctx context.Context, r *Reader, path string) (all []T, err error) {
	for page := 1; page <= maxPages; page++ {
		next, err := get[[]T](ctx, r, fmt.Sprintf("%s?per_page=%d&page=%d", path, pageSize, page))
		if err != nil {
			return nil, err
		}
		all = append(all, next...)
		if len(next) < pageSize {
			break
		}
	}
	return all, nil
}

// prose is a user's text, cut to maxText.
type prose string

func (p *prose) UnmarshalJSON(text []byte) error {
	var s string // also of null
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*p = prose(plaintext.Cut(s, maxText, "…"))
	return nil
}
