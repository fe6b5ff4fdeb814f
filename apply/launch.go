package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/activity"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/launch"
	"github.com/agentform/agentform/internal/shim/rundir"
	"github.com/agentform/agentform/internal/sleep"
	"github.com/agentform/agentform/internal/turn"
	"github.com/agentform/agentform/session"
)

// starter launches the recorded runs of sessions.
type starter struct {
	config   *Applier
	lineage  string
	journal  *journal
	runtimes *runtimes
	environs *environments
	reader   *activity.Reader
	newID    func(digits int) string
}

// launchOptions describe the context of a launch.
type launchOptions struct {
	in    *session.Location // that exists; nil: a new place
	ready bool              // other sessions wait until the agent is ready
	// last is called when all that is left is a write; nil: more follows.
	last func()
}

// newRun records a new run, and locks its directory until begun is called: it is being started.
func (s *starter) newRun(e *entry, d delivery) (begun func(), err error) {
	e.newRun(s.newID(16), d)
	if err := e.save(); err != nil {
		return nil, err
	}
	return rundir.Begin(s.config.runDir(e.rec.Run.ID))
}

func (s *starter) run(rec *session.Record, a session.Agent) (*launch.Run, error) {
	rt, err := s.runtimes.of(rec.Spec)
	if err != nil {
		return nil, err
	}
	return &launch.Run{
		Record: rec, Agent: a, Runtime: rt, Facts: s.config.Facts, Reader: s.reader, Now: s.config.Now,
		Lives: func(ctx context.Context) ([]session.Live, error) { return s.runtimes.lives(ctx, rec.Spec, true) },
	}, nil
}

// launch starts the recorded run and settles the record once the start is complete, for
// some with the typed prompt. It reports whether the run was started.
func (s *starter) launch(ctx context.Context, e *entry, a session.Agent, d delivery, o launchOptions) (started bool, err error) {
	r, err := s.run(&e.rec, a)
	if err != nil {
		return false, err
	}
	l, err := s.prepare(ctx, e, r, d)
	if err != nil {
		return false, err
	}
	err = r.Start(ctx, l, o.in, func(why error) (session.Location, error) { return s.taken(ctx, r.Runtime, l, why) })
	var failed *launch.FailedStartError
	if err != nil {
		return errors.As(err, &failed), err
	}
	run := &e.rec.Run
	if r.Paste != "" {
		err = e.save()
	} else {
		if patternless(e.rec.Spec.Agent) && s.config.Facts(run.ID).Alive {
			run.ReadyAt = run.StartedAt
		}
		if o.last != nil {
			o.last()
		}
		err = e.settle()
	}
	if err != nil {
		return true, err
	}
	happened := []history.Event{{Kind: history.Launched}, {Kind: history.IOAttached, Detail: e.rec.Location.Name}}
	if !run.ReadyAt.IsZero() {
		happened = append(happened, history.Event{Kind: history.Ready})
	}
	if r.Paste == "" && d.prompt {
		happened = append(happened, history.Event{Kind: history.PromptDelivered, Detail: "as argument", New: run.PromptSHA})
	}
	e.emit(happened...)
	if r.Paste != "" {
		return true, s.deliver(ctx, e, r)
	}
	if !o.ready || !run.ReadyAt.IsZero() {
		return true, nil
	}
	if err := s.await(ctx, r); err != nil {
		return true, err
	}
	return true, e.save()
}

func (s *starter) prepare(ctx context.Context, e *entry, r *launch.Run, d delivery) (l session.Launch, err error) {
	spec, c := e.rec.Spec, s.config
	o := launch.Options{
		Name: e.rec.Address.OutsideName(c.Project), Project: s.lineage, Dir: c.runDir(e.rec.Run.ID),
		Conversation: d.conversation, Fresh: launch.UUID(s.newID), Root: c.Root,
	}
	if d := spec.Runtime.Docker; d != nil && d.User != "" {
		owner, err := git.OwnerOf(d)
		o.Root = err == nil && owner.UID == 0
	}
	if d.prompt {
		if o.Prompt, err = e.prompt(); err != nil {
			return l, err
		}
	}
	if o.Secrets, err = launch.Secrets(spec, c.Secrets); err != nil {
		return l, err
	}
	if c.Hooks != nil {
		if o.Hook, err = c.Hooks(); err != nil {
			return l, err
		}
	}
	// A container has none of this machine's settings of git, and a clone has its own.
	if t := e.rec.Tree; spec.Runtime.Traits().OwnHome && (t.Mode == session.Worktree || t.Mode == session.InPlace) {
		if o.Identity, err = c.Git.Identity(ctx, t.Repo); err != nil {
			return l, err
		}
	}
	if o.Inherited, err = s.environs.inherited(spec); err != nil {
		return l, err
	}
	if !spec.Runtime.Traits().OwnHome {
		o.ProjectDir = c.ProjectDir
	}
	return r.Prepare(o)
}

// engineDelay bounds how long a container may stay invisible after the engine has given
// its name away.
const engineDelay = 5 * time.Second

// taken starts a run under another name if the wanted one is taken by a session of
// agentform. Otherwise it returns why.
func (s *starter) taken(ctx context.Context, rt session.Runtime, l session.Launch, why error) (session.Location, error) {
	for until := time.Now().Add(engineDelay); ; {
		has := s.runtimes.named(ctx, l)
		switch {
		case has != nil && !has.Foreign && has.Mark.ID != l.Mark.ID:
			// A session keeps its name when its address moves.
			l.Name += "-" + l.Mark.Run[:4]
			return rt.Create(ctx, l)
		case has != nil && !has.Foreign && has.Liveness == session.Dead:
			// A killed apply had it created after this one had observed the engine.
			if err := rt.Remove(ctx, has.Location); err != nil {
				return session.Location{}, errors.Join(why, err)
			}
			return rt.Create(ctx, l)
		case has != nil && has.Foreign && has.Mark.Project != "",
			has == nil && l.Spec.Runtime.Socket != "": // on a user's own server, others are not listed
			// Another clone of the repository has a session of this name.
			l.Name += "-" + l.Mark.Project[:min(len(l.Mark.Project), 6)]
			return rt.Create(ctx, l)
		case has != nil || time.Now().After(until):
			return session.Location{}, why
		}
		if !sleep.For(ctx, 100*time.Millisecond) {
			return session.Location{}, why
		}
	}
}

// await waits until the agent of a run can take a prompt, and emits that. Saving the
// record is left to the caller.
func (s *starter) await(ctx context.Context, r *launch.Run) error {
	if !r.Record.Run.ReadyAt.IsZero() {
		return nil
	}
	if err := r.Ready(ctx); err != nil {
		return err
	}
	rec := r.Record
	ready := history.Event{Address: rec.Address, ID: rec.ID, Run: rec.Run.ID, Kind: history.Ready}
	if began := rec.Run.StartedAt; !began.IsZero() { // not known of one that was adopted
		ready.Elapsed = session.Duration(rec.Run.ReadyAt.Sub(began).Round(time.Millisecond))
	}
	s.journal.emitOnce(rec, ready)
	return nil
}

// deliver types the prompt into an agent once it is ready, and settles the record. A prompt
// that the agent may have received counts as delivered, so that it is not typed twice.
func (s *starter) deliver(ctx context.Context, e *entry, r *launch.Run) error {
	if err := s.await(ctx, r); err != nil {
		return err
	}
	began := s.journal.now()
	outcome, err := r.Deliver(ctx)
	if err != nil {
		err = fmt.Errorf("type the prompt: %w", err)
		if mayBeTaken(err) {
			if unsaved := e.delivered("pasted; not confirmed", began); unsaved != nil {
				return errors.Join(err, unsaved)
			}
		}
		return err
	}
	how := "pasted, confirmed"
	if outcome == input.Unverified {
		how = "pasted; not confirmed"
	}
	return e.delivered(how, e.rec.Run.DeliveredAt)
}

// give types the pending input of a live agent: the prompt of an interrupted start, or a changed
// one.
func (s *starter) give(ctx context.Context, e *entry, a session.Agent) error {
	if err := s.complete(ctx, e, a); err != nil || !e.change.Sends {
		return err
	}
	return s.send(ctx, e, a)
}

// complete completes an interrupted start: it types a prompt that is not delivered.
func (s *starter) complete(ctx context.Context, e *entry, a session.Agent) error {
	starting := e.rec.Intent == session.Creating || e.rec.Intent == session.Restarting
	if !starting || !e.rec.Run.DeliveredAt.IsZero() || !takesPrompt(e.rec.Spec) && !handsOver(e.rec) {
		return nil
	}
	r, text, err := s.runAndPrompt(e, a)
	if err != nil {
		return err
	}
	in := session.StartInput{Spec: e.rec.Spec, Prompt: text}
	if e.rec.Run.Resumed {
		in.Conversation = e.rec.Run.Conversation
	}
	r.Paste = a.Start(in).Paste
	if r.Paste == "" {
		return e.delivered("as argument", s.journal.now())
	}
	if taken, err := s.hasPrompt(ctx, e, r, text, r.Paste); err != nil {
		return err
	} else if taken {
		return e.delivered("pasted", e.rec.Run.StartedAt) // by an apply that was killed
	}
	if !e.rec.HasPrompt(e.rec.Spec.Prompt.Digest) {
		e.rec.Run.PromptSHA = e.rec.Spec.Prompt.Digest
	}
	return s.deliver(ctx, e, r)
}

func (s *starter) runAndPrompt(e *entry, a session.Agent) (*launch.Run, string, error) {
	text, err := e.prompt()
	if err != nil {
		return nil, "", err
	}
	r, err := s.run(&e.rec, a)
	return r, text, err
}

// send types a changed prompt into the running conversation and records that the run has
// it. A prompt that is the last message already, as after a killed apply, is not typed.
func (s *starter) send(ctx context.Context, e *entry, a session.Agent) error {
	run, p := &e.rec.Run, e.rec.Spec.Prompt
	if run.PromptSHA == p.Digest {
		return nil
	}
	r, text, err := s.runAndPrompt(e, a)
	if err != nil {
		return err
	}
	x := history.Event{Time: s.journal.now(), Kind: history.Sent, Detail: fmt.Sprintf("the changed prompt, %d bytes", len(text))}
	taken, err := s.hasPrompt(ctx, e, r, text, text)
	if err != nil {
		return err
	}
	if !taken {
		s.noteTyped(e, text, x.Time)
		outcome, err := r.Type(ctx, text)
		if err != nil {
			err = fmt.Errorf("send the changed prompt: %w", err)
			if mayBeTaken(err) {
				run.PromptSHA = p.Digest
				if unsaved := e.save(); unsaved != nil {
					return errors.Join(err, unsaved)
				}
			}
			return err
		}
		if outcome == input.Queued {
			x.Reason, x.Detail = history.Queued, x.Detail+", queued"
		}
	}
	run.PromptSHA = p.Digest
	if run.DeliveredAt.IsZero() {
		run.DeliveredAt = x.Time
	}
	if err := e.save(); err != nil {
		return err
	}
	e.emit(x)
	return nil
}

// mayBeTaken reports whether the agent may still receive a text that was typed.
func mayBeTaken(err error) bool {
	var e *input.NotTakenError
	return errors.As(err, &e) && !e.Draft
}

// hasPrompt reports whether the agent already has a prompt, by its session file. After an apply
// that was killed while typing it, the agent gets time to read it. Without such a file the screen
// decides, and a prompt that was typed but not submitted is submitted.
func (s *starter) hasPrompt(ctx context.Context, e *entry, r *launch.Run, text, typed string) (bool, error) {
	sent := time.Time{}
	if r.Reader != nil {
		sent = activity.SentAt(r.Reader, e.rec, typed)
	}
	for {
		l, err := r.Live(ctx)
		if err != nil {
			return false, nil // whoever types says so
		}
		look := r.Activity(l)
		if lastSaid(look.Transcript, text) {
			return true, nil
		}
		if !sent.IsZero() && !activity.HasFiles(r.Agent) {
			shown, unsent := input.Traces(l.Screen, typed)
			if unsent {
				_, err = r.Press(ctx, session.Input{Key: "Enter"})
			}
			return shown, err
		}
		if sent.IsZero() || !look.Observable || time.Since(sent) > turn.Patience {
			return false, nil
		}
		if !sleep.For(ctx, 250*time.Millisecond) {
			return false, ctx.Err()
		}
	}
}

func lastSaid(t *session.Transcript, text string) bool {
	return t != nil && strings.TrimSpace(t.LastPrompt) == strings.TrimSpace(text)
}

// noteTyped keeps the echo of a prompt, and of the one before, from being read as the
// agent's words. Without it they may be.
func (s *starter) noteTyped(e *entry, text string, at time.Time) {
	texts := []string{text}
	if old, err := s.config.Blobs.Get(e.rec.Run.PromptSHA); err == nil && !e.rec.Run.DeliveredAt.IsZero() {
		texts = []string{old, text}
	}
	for _, t := range texts {
		if err := s.reader.Note(e.rec.Run.ID, t, at); err != nil {
			s.journal.warn(e.rec.Address, "the prompt's echo may be mistaken for the agent's output", err.Error())
		}
	}
}

func takesPrompt(s session.Spec) bool {
	return s.Prompt.Digest != "" && s.Agent.PromptVia != agent.ViaNone
}

// patternless reports whether an agent is ready as soon as its process is alive.
func patternless(a session.AgentSpec) bool { return a.Base == "" && a.Ready == "" }
