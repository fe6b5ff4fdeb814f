package pr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
)

// Access is how the sessions of a project, and their pull requests, are reached.
type Access struct {
	verify.Reach
	// Source returns what reads the pull request of a session's branch. last is the one before;
	// nil: there is none.
	Source func(ctx context.Context, r session.Record, last Source) (Source, error)
	// Record records what is known of the pull request in place of the record's, and that the work
	// has landed if that is not nil. It returns verify.ErrOutdated if the record's is not the last.
	Record func(ctx context.Context, r session.Record, now session.PullRequest, landed *session.Landed) error
}

const (
	// every is the time between two readings. It doubles up to everyLimit while nothing changes,
	// but only up to everyRunning while checks run.
	every        = time.Minute
	everyRunning = 2 * time.Minute
	everyLimit   = 10 * time.Minute
	// again is the time until what has changed meanwhile is decided again.
	again = 10 * time.Second
	// toldAfter is the number of failed readings in a row after which a person is needed: half an
	// hour. A server or a network that is gone for less comes back by itself, and would call for a
	// person in each session.
	toldAfter = 6
)

// Scheduler reads the pull requests of sessions again and again.
type Scheduler struct {
	Access
	Work *sync.WaitGroup // of running jobs
	Wake func()          // is called when something has changed

	mu   sync.Mutex
	jobs map[string]*job // by the ids of sessions
}

// job is the last reading of a session's pull request.
type job struct {
	seen     verify.Seen // by the last look
	running  bool
	source   Source
	ended    time.Time // of the turn before it
	every    time.Duration
	notUntil time.Time
	failed   string // why it could not be read; empty: it was
	tries    int    // in a row, that failed
}

// NewScheduler returns a scheduler that has seen nothing.
func NewScheduler(a Access, work *sync.WaitGroup, wake func()) *Scheduler {
	return &Scheduler{Access: a, Work: work, Wake: wake, jobs: map[string]*job{}}
}

// Watched reports whether the pull request of a session is read. A session that has landed may get
// another one unless it is done.
func Watched(r session.Record) bool {
	return r.Spec.PR.Declared() && r.Run.ID != "" && r.Tree.Branch != "" && r.Intent == session.Settled && (r.Landed == nil || r.Finished == nil)
}

// See adds a look at all sessions whose pull requests are read, and starts due jobs. They end with
// ctx.
func (x *Scheduler) See(ctx context.Context, all []verify.Seen) {
	there := make(map[string]bool, len(all))
	for _, s := range all {
		there[s.Record.ID] = true
		if !x.begin(s) {
			continue
		}
		x.Work.Go(func() {
			changed, runs, err := x.watch(ctx, s)
			if ctx.Err() != nil {
				return
			}
			say, tell := x.end(s, changed, runs, err)
			if say {
				x.Log.Warn("its pull request cannot be read now", "session", s.Record.Address, "error", err)
			}
			if tell && !x.unread(ctx, s, err) {
				x.mu.Lock()
				x.jobs[s.Record.ID].tries-- // the next one reports it
				x.mu.Unlock()
			}
			if changed || tell {
				x.Wake()
			}
		})
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, j := range x.jobs {
		if !there[id] && !j.running {
			delete(x.jobs, id)
		}
	}
}

// begin notes a look, and reports whether the pull request of a session is to be read now.
func (x *Scheduler) begin(s verify.Seen) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	j := x.jobs[s.Record.ID]
	if j == nil {
		j = &job{every: every}
		x.jobs[s.Record.ID] = j
	}
	j.seen = s
	if j.running {
		return false
	}
	now := x.Now()
	// After a turn there may be a push, and an agent that rests may be sent what waited for that.
	turned := j.failed == "" && s.Rests() && !s.Doing.Ended.Equal(j.ended)
	if now.Before(j.notUntil) && !turned {
		return false
	}
	if turned {
		j.every = every
	}
	j.ended = s.Doing.Ended
	j.running = true
	return true
}

// end notes how a reading ended. It reports whether it failed for a new reason, and whether a person
// is needed for that.
func (x *Scheduler) end(s verify.Seen, changed, runs bool, err error) (say, tell bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	j := x.jobs[s.Record.ID]
	j.running = false
	now := x.Now()
	limited, is := errors.AsType[*forge.LimitedError](err)
	switch {
	case err == nil:
		if j.every = min(2*j.every, everyLimit); changed {
			j.every = every
		} else if runs {
			j.every = min(j.every, everyRunning)
		}
		j.failed, j.tries, j.notUntil = "", 0, now.Add(j.every)
		return false, false
	case errors.Is(err, verify.ErrOutdated):
		j.notUntil = now.Add(again)
		return false, false
	case is:
		j.notUntil = limited.Until
		return false, false
	}
	j.tries++
	j.every = min(2*j.every, everyLimit)
	j.notUntil = now.Add(j.every)
	say = err.Error() != j.failed
	j.failed = err.Error()
	_, missing := errors.AsType[forge.NoToolError](err)
	lasts := errors.Is(err, forge.ErrUnread) || missing
	return say, j.tries == toldAfter || lasts && say
}

// unread records that the pull request of a session cannot be read, and reports whether a person
// knows.
func (x *Scheduler) unread(ctx context.Context, s verify.Seen, why error) bool {
	r := s.Record
	var next session.PullRequest
	if r.PR != nil {
		next = *r.PR
	}
	if next.Held() {
		return true
	}
	next.Unread, next.HeldAt, next.Detail = true, x.Now().UTC(), "its pull request cannot be read: "+why.Error()
	if err := x.Record(ctx, r, next, nil); err != nil {
		x.Log.Warn("it is not recorded that a pull request cannot be read", "session", r.Address, "error", err)
		return false
	}
	x.Tell(r, history.Event{Kind: history.Escalated, Reason: history.PRHeld, New: next.URL, Detail: next.Detail})
	return true
}

func (x *Scheduler) watch(ctx context.Context, s verify.Seen) (changed, runs bool, err error) {
	r := s.Record
	x.mu.Lock()
	j := x.jobs[r.ID]
	last := j.source
	x.mu.Unlock()
	source, err := x.Source(ctx, r, last)
	if err != nil {
		return false, false, err
	}
	x.mu.Lock()
	j.source = source
	x.mu.Unlock()
	w := &Watcher{Session: r, Pulls: source, Now: x.Now, Look: func() verify.Seen {
		x.mu.Lock()
		defer x.mu.Unlock()
		return j.seen
	}}
	w.Head = func(ctx context.Context) (string, error) {
		seen := w.Look()
		return headOf(ctx, changes.Of(r, seen.Checkout, seen.Live, x.Open), r.Tree.Branch)
	}
	w.Record = func(ctx context.Context, was *session.PullRequest, now session.PullRequest, landed *session.Landed) error {
		r := r
		r.PR = was
		return x.Record(ctx, r, now, landed)
	}
	w.Send = func(ctx context.Context, text string) error {
		rt, err := x.Open(r.Spec.Runtime)
		if err != nil {
			return err
		}
		return x.Reach.Send(ctx, rt, w.Look(), text)
	}
	w.Tell = func(e history.Event) { x.Tell(r, e) }
	return w.Do(ctx)
}

// gitLimit bounds one look of git, which may hang.
const gitLimit = time.Minute

func headOf(ctx context.Context, w changes.Workspace, branch string) (string, error) {
	if w.Git == nil {
		return "", errors.New("git cannot run in its workspace")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitLimit, fmt.Errorf("git took longer than %s in its workspace", gitLimit))
	defer cancel()
	out, err := w.Git(ctx, "rev-parse", "--verify", "refs/heads/"+branch+"^{commit}")
	return strings.TrimSpace(out), err
}

// OnForge returns a Source of Access that reads by gh or glab where the remote of a session's
// repository is, which is where land opens a pull request.
func OnForge(t *forge.Tool) func(context.Context, session.Record, Source) (Source, error) {
	return func(ctx context.Context, r session.Record, last Source) (Source, error) {
		url := r.Tree.Repo
		if !strings.Contains(url, "://") {
			ctx, cancel := context.WithTimeout(ctx, gitLimit)
			defer cancel()
			name, remote, err := git.Remote(ctx, r.Tree.Repo, r.Tree.Branch)
			if err != nil || name == "" {
				return nil, errors.Join(errors.New("its repository has no remote"), err)
			}
			url = remote
		}
		reader, err := forge.NewReader(t, forge.PlaceOf(url), r.Tree.Branch)
		if err != nil {
			return nil, err
		}
		if same, is := last.(*forge.Reader); is && same.Same(reader) {
			return same, nil
		}
		return reader, nil
	}
}
