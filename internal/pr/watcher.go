package pr

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/forge"
	"github.com/agentform/agentform/internal/verify"
	"github.com/agentform/agentform/session"
)

// Source reads the pull request of one branch.
type Source interface {
	Read(ctx context.Context, since time.Time) (*forge.PullRequest, error)
	Log(ctx context.Context, job int64) (string, error)
	Contains(ctx context.Context, commit, other string) (bool, error)
}

// Watcher does what is due about the pull request of one recorded session.
type Watcher struct {
	Session session.Record
	Pulls   Source
	// Look returns what was last seen of the session.
	Look func() verify.Seen
	// Head returns the commit of the session's branch in its workspace.
	Head func(context.Context) (string, error)
	// Record records what is known of the pull request in place of something else, and that the
	// work has landed if that is not nil. It returns verify.ErrOutdated if the other is not the last.
	// It may wait for the state's lock.
	Record func(ctx context.Context, was *session.PullRequest, now session.PullRequest, landed *session.Landed) error
	// Send types a text into the agent.
	Send func(ctx context.Context, text string) error
	// Tell adds an event to the history; its time is set.
	Tell func(history.Event)
	Now  func() time.Time
}

// Do reads the pull request, and does what is due. It reports whether anything has changed.
func (w *Watcher) Do(ctx context.Context) (changed, runs bool, err error) {
	now, err := w.Pulls.Read(ctx, w.Session.CreatedAt)
	if err != nil {
		return false, false, err
	}
	f := w.facts(now)
	runs = now != nil && now.Open && checksOf(now.Checks) == session.ChecksRun
	switch action, next, parcel := Decide(f); action {
	case Nothing:
		return false, runs, nil
	case Note:
		return true, runs, w.record(ctx, next, nil)
	case Send:
		return true, runs, w.send(ctx, next, parcel)
	case Hold:
		return true, runs, w.hold(ctx, next)
	default:
		return true, runs, w.land(ctx, f, next)
	}
}

func (w *Watcher) facts(now *forge.PullRequest) Facts {
	r, seen := w.Session, w.Look()
	takes := seen.Takes(w.Now())
	f := Facts{Spec: r.Spec.PR, Was: r.PR, Now: now, At: w.Now(), Rests: !errors.Is(takes, verify.ErrOutdated), Given: seen.Doing.Since, Ended: seen.Doing.Ended,
		From: r.FinishFrom, Landed: r.Landed != nil, Works: works(seen)}
	if f.Rests {
		f.Untaken = takes
	}
	if v := r.Verified; r.Spec.Verify.Declared() {
		f.Unverified = v == nil || v.At.Before(f.Ended) || !v.OK && !v.Held && r.Spec.Verify.OnFailure == session.FailureSends
	}
	return f
}

// works reports whether the agent is known to work.
func works(s verify.Seen) bool {
	if s.Live == nil || s.Live.Liveness == session.Dead {
		return false
	}
	switch s.Doing.Activity {
	case session.Idle, session.Done, session.Failed, session.Exited:
		return s.Doing.Run != s.Record.Run.ID
	}
	return true
}

// record records what is known of the pull request.
func (w *Watcher) record(ctx context.Context, next session.PullRequest, landed *session.Landed) error {
	if err := w.Record(ctx, w.Session.PR, next, landed); err != nil {
		return err
	}
	w.Session.PR = &next
	return nil
}

// send gives the agent a parcel. The error is verify.ErrOutdated if it takes no text now, and then nothing
// was sent.
func (w *Watcher) send(ctx context.Context, next session.PullRequest, p Parcel) error {
	logs := map[int64]string{}
	for _, c := range p.Checks[:min(len(p.Checks), maxLogs)] {
		if c.Job == 0 {
			continue
		}
		log, err := w.Pulls.Log(ctx, c.Job)
		if ctx.Err() != nil {
			return err
		}
		if err != nil { // the rest of it is worth sending
			log = "It cannot be read: " + err.Error()
		}
		logs[c.ID] = log
	}
	if w.Look().Takes(w.Now()) != nil {
		return verify.ErrOutdated
	}
	was := w.Session.PR
	next.SentAt = w.Now().UTC()
	if err := w.record(ctx, next, nil); err != nil {
		return err
	}
	err := w.Send(ctx, Message(next, w.Session.Tree.Branch, p, logs))
	last := context.WithoutCancel(ctx)
	if verify.Untyped(err) {
		before := session.PullRequest{}
		if was != nil {
			before = *was
		}
		return errors.Join(verify.ErrOutdated, err, w.record(last, before, nil))
	}
	if err != nil {
		next.HeldAt, next.Detail = w.Now().UTC(), unsent(p, err)
		return errors.Join(err, w.hold(last, next))
	}
	w.Tell(history.Event{Kind: history.PRFeedback, New: next.URL, Detail: fmt.Sprintf("%s (%d/%d)", p, next.Round, w.Session.Spec.PR.Rounds)})
	return nil
}

// maxLogs bounds the logs that are read at once.
const maxLogs = 5

// hold records that the session needs a person.
func (w *Watcher) hold(ctx context.Context, next session.PullRequest) error {
	if err := w.record(ctx, next, nil); err != nil {
		return err
	}
	w.Tell(history.Event{Kind: history.Escalated, Reason: history.PRHeld, New: next.URL, Detail: next.Detail})
	return nil
}

// land records that the work of the session is in its base, if the pull request that was merged has
// all of it.
func (w *Watcher) land(ctx context.Context, f Facts, next session.PullRequest) error {
	r := w.Session
	head, err := w.Head(ctx)
	if err != nil {
		return fmt.Errorf("find the commit of its branch: %w", err)
	}
	has, err := w.Pulls.Contains(ctx, f.Now.Head, head)
	if err != nil {
		return err
	}
	if !has {
		next.HeldAt, next.Detail = f.At.UTC(), fmt.Sprintf("its pull request was merged without what its branch has at %.7s", head)
		return w.hold(ctx, next)
	}
	if works(w.Look()) {
		return verify.ErrOutdated
	}
	landed := &session.Landed{Into: f.Now.Base, Commit: f.Now.Merged, From: head, At: w.Now().UTC(), Unverified: r.Unverified(head)}
	if err := w.record(ctx, next, landed); err != nil {
		return err
	}
	_, sign := forge.Noun(next.URL)
	w.Tell(history.Event{Kind: history.Landed, Old: head, New: landed.Commit, Reason: "pull_request", Detail: fmt.Sprintf("%s on %s (%s%d)", r.Tree.Branch, landed.Into, sign, next.Number)})
	return nil
}
