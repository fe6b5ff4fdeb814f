package forge

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/excerpt"
)

const (
	callLimit = 30 * time.Second // of one call, in which a server may never answer
	maxAnswer = 8 << 20          // bytes of one answer
	maxLog    = 256 << 10        // bytes of the end of a log
	atOnce    = 2                // calls: each is a process
	// reserve is the part of a server's limit that is left to others: a tenth.
	reserve = 10
	// blockedFor is how long a server gets no requests if it refuses for its limit without a time.
	blockedFor = 10 * time.Minute
	// longestLimit bounds a time that a server says: GitHub counts by the hour, GitLab by the minute.
	longestLimit = time.Hour
)

// Tool calls gh and glab. Its methods may be called concurrently.
type Tool struct {
	Environ environ.Vars // in which they find their credentials
	Now     func() time.Time

	slots  chan struct{}
	mu     sync.Mutex
	limits map[string]time.Time // until when a limit is left to others, by host and kind
}

// NewTool returns the gh and the glab of an environment.
func NewTool(e environ.Vars, now func() time.Time) *Tool {
	return &Tool{Environ: e, Now: now, slots: make(chan struct{}, atOnce), limits: map[string]time.Time{}}
}

// program asks the API of one kind of servers with the credentials of its user.
type program struct {
	name    string
	accept  string   // the format of answers
	limits  string   // the start of the names of the headers about a limit
	environ []string // without which it asks its user, or looks for updates
}

var (
	gh = &program{name: "gh", accept: "application/vnd.github+json", limits: "X-RateLimit-",
		environ: []string{"GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "GH_FORCE_TTY=", "GH_DEBUG=", "DEBUG=", "NO_COLOR=1", "CLICOLOR_FORCE=0"}}
	glab = &program{name: "glab", accept: "application/json", limits: "RateLimit-",
		environ: []string{"GLAB_NO_PROMPT=true", "GLAB_CHECK_UPDATE=false", "GLAB_SEND_TELEMETRY=false", "GLAB_DEBUG_HTTP=false", "DEBUG=false", "NO_COLOR=1", "COLOR_ENABLED=0"}}
)

// NoToolError reports that a program is missing. Its value is the program's name.
type NoToolError string

func (e NoToolError) Error() string { return string(e) + " is not installed" }

// refusedError reports that a server has refused to answer a question.
type refusedError struct {
	status int
	text   string
}

func (e *refusedError) Error() string { return e.text }

// refused reports whether a server has refused to answer with one of those statuses.
func refused(err error, statuses ...int) bool {
	r, is := errors.AsType[*refusedError](err)
	return is && slices.Contains(statuses, r.status)
}

// LimitedError reports that a server's limit is nearly used up.
type LimitedError struct {
	Host  string
	Until time.Time
}

func (e *LimitedError) Error() string {
	return fmt.Sprintf("the limit of %s is nearly used up: it is asked again at %s", e.Host, e.Until.UTC().Format(time.RFC3339))
}

// question is a call of the API.
type question struct {
	by     *program
	host   string
	path   string   // without the first slash
	etag   string   // of the last answer; empty: there is none
	texts  []string // variables of a query, NAME=TEXT
	number int      // the variable of that name; 0: there is none
}

func (q question) argv() []string {
	argv := []string{"api", "--include", "--hostname", q.host, "--header", "Accept: " + q.by.accept}
	if q.etag != "" {
		argv = append(argv, "--header", "If-None-Match: "+q.etag)
	}
	for _, f := range q.texts {
		argv = append(argv, "--raw-field", f)
	}
	if q.number > 0 {
		argv = append(argv, "--field", "number="+strconv.Itoa(q.number))
	}
	return append(argv, q.path)
}

// limit names the limit that the question counts for.
func (q question) limit() string {
	if q.path == graphql {
		return q.host + " " + graphql
	}
	return q.host
}

const graphql = "graphql"

// answer is what the API answered.
type answer struct {
	status int
	header textproto.MIMEHeader
	body   []byte
}

var errLong = errors.New("the answer is too long")

// ask sends a request to the API. The error is a *LimitedError if the limit is nearly used up. A
// status other than 200 and 304 is a *refusedError.
func (t *Tool) ask(ctx context.Context, q question) (answer, error) {
	if err := t.free(q); err != nil {
		return answer{}, err
	}
	out := excerpt.Head{Limit: maxAnswer, Full: errLong}
	said, err := t.run(ctx, q.by, q.argv(), &out)
	if ctx.Err() != nil {
		return answer{}, context.Cause(ctx)
	}
	a, parsed := parse(q.by, out.Bytes())
	_, missing := errors.AsType[NoToolError](err)
	switch {
	case out.Over():
		return answer{}, fmt.Errorf("ask %s for %s: the answer has more than %d bytes", q.host, q.path, maxAnswer)
	case parsed != nil && err == nil:
		return answer{}, fmt.Errorf("ask %s for %s: %w", q.host, q.path, parsed)
	case missing:
		return answer{}, err
	case parsed != nil: // it did not get as far as an answer
		return answer{}, fmt.Errorf("ask %s for %s: %s", q.host, q.path, cmp.Or(said, err.Error()))
	}
	limited := t.note(q, a)
	switch {
	case a.status == http.StatusOK, a.status == http.StatusNotModified && q.etag != "":
		return a, nil
	case limited != nil:
		return a, limited
	}
	return a, &refusedError{a.status, fmt.Sprintf("ask %s for %s: %s", q.host, q.path, cmp.Or(said, "HTTP "+strconv.Itoa(a.status)))}
}

// free returns a *LimitedError while the rest of the limit is left to others.
func (t *Tool) free(q question) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if until := t.limits[q.limit()]; t.Now().Before(until) {
		return &LimitedError{q.host, until}
	}
	return nil
}

// note records an answer's limit, and returns a *LimitedError if the limit was the reason of a
// refusal.
func (t *Tool) note(q question, a answer) error {
	number := func(name string) (int, bool) {
		n, err := strconv.Atoi(a.header.Get(name))
		return n, err == nil
	}
	var wait time.Duration // 0: no limit is near
	bounded := func(seconds int) time.Duration {
		return time.Duration(min(seconds, int(longestLimit/time.Second))) * time.Second
	}
	left, counts := number(q.by.limits + "Remaining")
	of, _ := number(q.by.limits + "Limit")
	if reset, ok := number(q.by.limits + "Reset"); ok && counts && left <= of/reserve {
		wait = bounded(reset - int(t.Now().Unix()))
	}
	refused := a.status == http.StatusTooManyRequests || a.status == http.StatusForbidden && (counts && left == 0 || a.header.Get("Retry-After") != "")
	if refused {
		if after, ok := number("Retry-After"); ok {
			wait = bounded(after)
		}
		if wait <= 0 {
			wait = blockedFor
		}
	}
	if wait <= 0 {
		return nil
	}
	until := t.Now().Add(wait)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limits[q.limit()] = until
	if refused {
		return &LimitedError{q.host, until}
	}
	return nil
}

// log returns the end of the log of a job.
func (t *Tool) log(ctx context.Context, q question) (string, error) {
	if err := t.free(q); err != nil {
		return "", err
	}
	out := excerpt.Tail{Limit: maxLog}
	said, err := t.run(ctx, q.by, []string{"api", "--hostname", q.host, q.path}, &out)
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", errors.New(cmp.Or(said, err.Error()))
	}
	return out.String(), nil
}

// run runs a program, and returns its error message.
func (t *Tool) run(ctx context.Context, by *program, argv []string, out io.Writer) (said string, err error) {
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	path, found := t.Environ.Program(by.name, "/")
	if !found {
		return "", NoToolError(by.name)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callLimit, fmt.Errorf("%s has not answered within %s", by.name, callLimit))
	defer cancel()
	c := exec.CommandContext(ctx, path, argv...)
	c.Dir, c.Env = "/", append(slices.Clone(t.Environ), by.environ...)
	fault := excerpt.Tail{Limit: maxLog}
	c.Stdout, c.Stderr = out, &fault
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = 2 * time.Second
	err = c.Run()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return messageOf(fault.String()), err
}

// messageOf returns the first line of an error message, or all of one that glab has framed and
// wrapped.
func messageOf(text string) string {
	if framed, is := strings.CutPrefix(strings.TrimSpace(text), "ERROR"); is {
		return strings.Join(strings.Fields(framed), " ")
	}
	said, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return said
}

// parse reads what a program prints of an answer with its headers.
func parse(by *program, out []byte) (a answer, err error) {
	r := bufio.NewReader(bytes.NewReader(out))
	text := textproto.NewReader(r)
	line, err := text.ReadLine()
	if err != nil {
		return a, fmt.Errorf("%s printed no answer", by.name)
	}
	words := strings.Fields(line)
	if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/") {
		return a, fmt.Errorf("%s printed no answer, but %.100q", by.name, line)
	}
	if a.status, err = strconv.Atoi(words[1]); err != nil {
		return a, fmt.Errorf("%s printed no status, but %.100q", by.name, line)
	}
	if a.header, err = text.ReadMIMEHeader(); err != nil {
		return a, fmt.Errorf("read the headers: %w", err)
	}
	a.body, err = io.ReadAll(r)
	return a, err
}
