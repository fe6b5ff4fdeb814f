package pr

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
)

// bench is a session, its pull request, and what was done about it.
type bench struct {
	t        *testing.T
	record   session.Record
	doing    session.Doing
	now      time.Time
	pull     *forge.PullRequest
	fault    error // of a reading
	reads    []time.Time
	contains bool
	sent     []string
	told     []string
	unsent   error  // the agent takes no text
	unsaved  error  // of the state
	before   func() // a text is typed
	asked    func() // is called when something more than the pull request is read
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, now: minute(20), contains: true}
	b.record = session.Record{ID: "id", Address: "session.api", Run: session.Run{ID: "run"}, CreatedAt: minute(-60),
		Tree: session.WorkspaceState{Mode: session.Worktree, Branch: "agents/api"}}
	b.record.Spec.PR = wanted
	b.rests(11, 15)
	return b
}

// rests says that the agent has ended the turn of what it was given.
func (b *bench) rests(given, ended int) {
	b.doing = session.Doing{Run: "run", Activity: session.Idle, Since: minute(given), Ended: minute(ended)}
}

func (b *bench) seen() verify.Seen {
	return verify.Seen{Record: b.record, Doing: b.doing, Live: &session.Live{Liveness: session.Alive, Mark: session.Mark{Run: "run"}}}
}

func (b *bench) Read(_ context.Context, since time.Time) (*forge.PullRequest, error) {
	if !since.Equal(b.record.CreatedAt) {
		b.t.Errorf("it is read since %s", since)
	}
	b.reads = append(b.reads, b.now)
	return b.pull, b.fault
}

func (b *bench) Log(_ context.Context, job int64) (string, error) {
	if b.asked != nil {
		b.asked()
	}
	if job == 7 {
		return "", errors.New("HTTP 410")
	}
	return fmt.Sprint("log of ", job), nil
}

func (b *bench) Contains(_ context.Context, commit, other string) (bool, error) {
	if commit != b.pull.Head || other != "mine" {
		b.t.Errorf("it is asked whether %s has %s", commit, other)
	}
	if b.asked != nil {
		b.asked()
	}
	return b.contains, nil
}

func (b *bench) save(was *session.PullRequest, now session.PullRequest, landed *session.Landed) error {
	if !was.Same(b.record.PR) {
		return verify.ErrOutdated
	}
	b.record.PR = &now
	if landed != nil {
		b.record.Landed = landed
	}
	return nil
}

func (b *bench) typed(text string) error {
	if b.before != nil {
		b.before()
	}
	if b.unsent != nil {
		return b.unsent
	}
	b.sent = append(b.sent, text)
	b.doing = session.Doing{Run: "run", Activity: session.Working, Since: b.now.Add(time.Second)}
	return nil
}

func (b *bench) watcher() *Watcher {
	return &Watcher{Session: b.record, Pulls: b, Look: b.seen, Now: func() time.Time { return b.now },
		Head: func(context.Context) (string, error) { return "mine", nil },
		Record: func(_ context.Context, was *session.PullRequest, now session.PullRequest, landed *session.Landed) error {
			return b.save(was, now, landed)
		},
		Send: func(_ context.Context, text string) error { return b.typed(text) },
		Tell: func(e history.Event) {
			b.told = append(b.told, strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Reason, " ", e.Detail)))
		},
	}
}

// do does what is due, and compares what was told.
func (b *bench) do(what string, told ...string) {
	b.t.Helper()
	b.told, b.sent = nil, nil
	if _, _, err := b.watcher().Do(b.t.Context()); err != nil {
		b.t.Errorf("%s: %v", what, err)
	}
	if d := cmp.Diff(told, b.told); d != "" {
		b.t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// TestRounds leads a pull request to its end: a check fails, is sent, another one fails, a comment
// is one too many, someone helps, and it is merged.
func TestRounds(t *testing.T) {
	b := newBench(t)
	b.do("without one")
	if b.record.PR != nil {
		t.Errorf("%+v", b.record.PR)
	}
	one, two := failed(1), failed(2)
	one.Job, two.Job = 6, 7
	b.pull = pull("a", with(one))
	b.do("a check failed", "pr_feedback  1 failed check (1/2)")
	if len(b.sent) != 1 || !strings.Contains(b.sent[0], "\n> log of 6\n") {
		t.Fatalf("sent %q", b.sent)
	}
	b.do("it works on that")
	b.now = minute(30)
	b.rests(21, 25)
	b.pull = pull("b", with(two))
	b.do("another one failed", "pr_feedback  1 failed check (2/2)")
	if len(b.sent) != 1 || !strings.Contains(b.sent[0], "\n> It cannot be read: HTTP 410\n") {
		t.Fatalf("sent %q", b.sent)
	}
	b.now = minute(40)
	b.rests(31, 35)
	b.pull = pull("c", asks(comment(5, "OWNER")))
	b.do("one too many", "escalated pr_held after 2 texts in a row there is more: 1 review comment")
	b.do("it stays so")
	b.rests(41, 42)
	b.now = minute(43)
	b.do("someone has helped", "pr_feedback  1 review comment (1/2)")
	b.pull = pull("c", func(p *forge.PullRequest) { p.Open, p.Merged, p.MergedAt = false, "beef", minute(44) })
	b.do("it is merged while the agent works")
	b.rests(44, 45)
	b.now = minute(46)
	b.do("it is merged", "landed pull_request agents/api on main (#12)")
	want := &session.Landed{Into: "main", Commit: "beef", From: "mine", At: minute(46)}
	if d := cmp.Diff(want, b.record.Landed); d != "" || b.record.PR.State != session.PRMerged {
		t.Errorf("%s%+v", d, b.record.PR)
	}
}

// TestMergedWithoutAll checks that a session needs a person whose pull request was merged without
// its last commit.
func TestMergedWithoutAll(t *testing.T) {
	b := newBench(t)
	b.contains = false
	b.pull = pull("c", func(p *forge.PullRequest) { p.Open, p.Merged, p.MergedAt = false, "beef", minute(10) })
	b.do("merged", "escalated pr_held its pull request was merged without what its branch has at mine")
	b.do("it stays so")
	if b.record.Landed != nil {
		t.Errorf("%+v", b.record.Landed)
	}
}

// TestKilledWhileItSends checks that nothing is sent twice, and that a person is needed if it is not
// known whether it was sent.
func TestKilledWhileItSends(t *testing.T) {
	b := newBench(t)
	b.pull = pull("a", with(failed(1)))
	b.before = func() { panic("killed") }
	func() {
		defer func() {
			if recover() != "killed" {
				t.Error("it was not about to send it")
			}
		}()
		_, _, _ = b.watcher().Do(t.Context()) // it does not return
	}()
	b.before = nil
	b.do("the next hub", "escalated pr_held its agent may not have been sent what is new of its pull request")
	if r := b.record.PR; len(b.sent) > 0 || r.Round != 1 || !r.Held() {
		t.Errorf("sent %q, %+v", b.sent, r)
	}
	b.do("one more")
}

// TestUnsent checks what an agent leads to that takes no text.
func TestUnsent(t *testing.T) {
	for name, c := range map[string]struct {
		why  error
		told []string
		next []string // as soon as it takes text
	}{
		"paused":    {&input.PausedError{Err: session.ErrRefused}, nil, []string{"pr_feedback  1 failed check (1/2)"}},
		"it asks":   {&input.DialogError{Question: "Sure?"}, nil, []string{"pr_feedback  1 failed check (1/2)"}},
		"otherwise": {session.ErrRefused, []string{"escalated pr_held its agent could not be sent 1 failed check: " + session.ErrRefused.Error()}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.pull = pull("a", with(failed(1)))
			b.unsent = c.why
			_, _, err := b.watcher().Do(t.Context())
			if !errors.Is(err, c.why) || errors.Is(err, verify.ErrOutdated) != (len(c.told) == 0) {
				t.Errorf("%v", err)
			}
			if d := cmp.Diff(c.told, b.told); d != "" {
				t.Error(d)
			}
			b.unsent = nil
			b.do("then", c.next...)
		})
	}
}

// TestMeanwhile checks that an agent that was given something while GitHub was asked is sent nothing,
// and that its work is not taken for landed.
func TestMeanwhile(t *testing.T) {
	one := failed(1)
	one.Job = 6
	for name, p := range map[string]*forge.PullRequest{
		"failed": pull("a", with(one)),
		"merged": pull("a", func(p *forge.PullRequest) { p.Open, p.Merged, p.MergedAt = false, "beef", minute(10) }),
	} {
		b := newBench(t)
		b.pull = p
		b.asked = func() { b.doing = session.Doing{Run: "run", Activity: session.Working, Since: minute(20)} }
		if _, _, err := b.watcher().Do(t.Context()); !errors.Is(err, verify.ErrOutdated) || len(b.sent) > 0 || b.record.PR != nil || b.record.Landed != nil {
			t.Errorf("%s: %v, sent %q, %+v", name, err, b.sent, b.record.PR)
		}
	}
}

// TestTwoWatchers checks that of two processes one sends what is new.
func TestTwoWatchers(t *testing.T) {
	b := newBench(t)
	b.pull = pull("a", with(failed(1)))
	first := b.watcher()
	b.do("another one", "pr_feedback  1 failed check (1/2)")
	b.rests(11, 15) // as the first one still sees it
	if _, _, err := first.Do(t.Context()); !errors.Is(err, verify.ErrOutdated) || len(b.sent) != 1 {
		t.Errorf("%v, sent %q", err, b.sent)
	}
}

// scheduler returns a scheduler of the session, whose agent it cannot reach.
func (b *bench) scheduler() *Scheduler {
	folder := b.t.TempDir()
	return NewScheduler(Access{
		Reach: verify.Reach{
			Folder: func(session.Record) string { return folder },
			Emit:   func(e history.Event) { b.told = append(b.told, fmt.Sprint(e.Kind, " ", e.Reason, ": ", e.Detail)) },
			Now:    time.Now, Log: slog.New(slog.DiscardHandler),
		},
		Source: func(context.Context, session.Record, Source) (Source, error) { return b, nil },
		Record: func(_ context.Context, r session.Record, now session.PullRequest, landed *session.Landed) error {
			return errors.Join(b.unsaved, b.save(r.PR, now, landed))
		},
	}, &sync.WaitGroup{}, func() {})
}

// TestUnread checks that people are notified that a pull request cannot be read as soon as that can be
// recorded.
func TestUnread(t *testing.T) {
	for _, fault := range []error{errors.New("no network"), forge.NoToolError("gh")} {
		testUnread(t, fault)
	}
}

func testUnread(t *testing.T, fault error) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.fault, b.unsaved = fault, errors.New("no space left")
		x := b.scheduler()
		for i := range 90 {
			if i == 60 {
				b.unsaved = nil
			}
			x.See(t.Context(), []verify.Seen{b.seen()})
			x.Work.Wait()
			if b.unsaved != nil {
				b.record.PR = nil
			}
			time.Sleep(time.Minute)
		}
		if d := cmp.Diff([]string{"escalated pr_held: its pull request cannot be read: " + fault.Error()}, b.told); d != "" || !b.record.PR.Held() {
			t.Errorf("%s%+v", d, b.record.PR)
		}
	})
}

// TestSchedule checks how often a pull request is read.
func TestSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		begun := time.Now()
		b.record.CreatedAt = begun
		x := b.scheduler()
		look := func(what string, d time.Duration, want ...string) {
			t.Helper()
			from := time.Now()
			b.reads = nil
			var got []string
			for range int(d / time.Second) {
				b.now = time.Now()
				x.See(t.Context(), []verify.Seen{b.seen()})
				x.Work.Wait()
				time.Sleep(time.Second)
			}
			for _, at := range b.reads {
				got = append(got, at.Sub(from).String())
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", what, d)
			}
		}
		b.doing = session.Doing{Run: "run", Activity: session.Working, Since: begun}
		look("nothing", 20*time.Minute, "0s", "2m0s", "6m0s", "14m0s")
		b.doing = session.Doing{Run: "run", Activity: session.Idle, Since: begun, Ended: time.Now()}
		look("after a turn", 10*time.Minute, "0s", "2m0s", "6m0s")
		b.pull = pull("a", with(forge.Check{ID: 9}))
		look("while checks run", 15*time.Minute, "4m0s", "5m0s", "7m0s", "9m0s", "11m0s", "13m0s")
		b.fault = &forge.LimitedError{Host: "github.com", Until: time.Now().Add(20 * time.Minute)}
		look("the limit is used up", 19*time.Minute, "0s")
		b.fault = errors.New("no network")
		look("without a network", 33*time.Minute, "1m0s", "5m0s", "13m0s", "23m0s")
		if len(b.told) > 0 {
			t.Errorf("it was told %q", b.told)
		}
		look("for long", 11*time.Minute, "0s", "10m0s")
		if d := cmp.Diff([]string{"escalated pr_held: its pull request cannot be read: no network"}, b.told); d != "" {
			t.Error(d)
		}
		if r := b.record.PR; !r.Unread || r.Number != 12 {
			t.Errorf("%+v", r)
		}
		b.fault = nil
		look("with one again", 14*time.Minute, "9m0s", "10m0s", "12m0s")
		if b.record.PR.Held() {
			t.Errorf("%+v", b.record.PR)
		}
		b.told, b.fault, b.record.PR = nil, forge.NoToolError("gh"), nil
		look("without gh", 15*time.Minute, "0s", "4m0s", "12m0s")
		if d := cmp.Diff([]string{"escalated pr_held: its pull request cannot be read: gh is not installed"}, b.told); d != "" {
			t.Error(d)
		}
		x.See(t.Context(), nil)
		if len(x.jobs) > 0 {
			t.Error("a session that is gone is not forgotten")
		}
	})
}
