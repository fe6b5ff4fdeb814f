package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/changes"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

// Verifier verifies the work of one recorded session with a live agent.
type Verifier struct {
	Session   session.Record
	Place     session.Location
	Workspace changes.Workspace // with a Git
	Runtime   session.Runtime
	// Doing returns what the agent does now.
	Doing func(context.Context) (session.Doing, error)
	// Record records an outcome in place of another one, or returns ErrOutdated if that is not
	// the last. It may wait for the state's lock.
	Record func(ctx context.Context, was *session.Verified, now session.Verified) error
	// Send types a text into the agent.
	Send func(ctx context.Context, text string) error
	// Takes is Seen.Takes of now; nil: it takes a text.
	Takes func() error
	// Tell adds an event to the history; its time, kind, reason and texts are set.
	Tell func(history.Event)
	Now  func() time.Time
	// Slot waits until a command may run, and returns a function to call when it has ended. waited
	// means that a change of the workspace may be from meanwhile; nil: no wait.
	Slot func(context.Context) (release func(), waited bool, err error)

	ran *ran // the last command of the session's work; nil: it is not kept
}

// ran is a verification that was judged, and perhaps not recorded.
type ran struct {
	facts   Facts
	outcome Outcome
}

// of reports whether it was made of that.
func (r *ran) of(f Facts) bool {
	return r != nil && r.facts.Commit == f.Commit && r.facts.Given.Equal(f.Given) && r.facts.Ended.Equal(f.Ended) && r.facts.Spec.Equal(f.Spec)
}

// ErrWorksOn reports that the agent was given something else while its work was verified.
var ErrWorksOn = errors.New("its agent works on something else by now")

// ErrOutdated reports that the session has changed meanwhile, such as by an outcome that another
// process has recorded: the decision must be made again.
var ErrOutdated = errors.New("the session has changed meanwhile")

// lookLimit bounds one look at a workspace, in which git may hang.
const lookLimit = time.Minute

var errSlow = fmt.Errorf("git took longer than %s in its workspace", lookLimit)

// Do does what is due about the session's current work.
func (v *Verifier) Do(ctx context.Context) error {
	f, base, err := v.look(ctx)
	var o Outcome
	if v.ran.of(f) {
		o = v.ran.outcome
	}
	for ; ; f.Was = v.Session.Verified {
		if err != nil {
			return err
		}
		switch Decide(f) {
		case Commit:
			f, base, err = v.commit(ctx, f)
		case Run:
			o, err = v.run(ctx, f, base)
		case Send:
			return v.send(ctx, f, o)
		case Hold:
			detail := f.Was.Detail
			if f.unsent() {
				detail += "; its agent may not have been sent that"
			}
			return v.hold(ctx, f, detail)
		case Renew:
			return v.renew(ctx, f)
		default:
			return nil
		}
	}
}

// Once verifies the work of the session, whatever is recorded, and returns the outcome and the end
// of the command's output. It sends nothing to the agent.
func (v *Verifier) Once(ctx context.Context) (now session.Verified, output string, err error) {
	f, base, err := v.look(ctx)
	if err == nil && f.commits() {
		f, base, err = v.commit(ctx, f)
	}
	if why := none(f, base); err == nil && why != "" {
		err = errors.New(why)
	}
	var o Outcome
	if err == nil {
		o, err = v.run(ctx, f, base)
	}
	if err != nil {
		return session.Verified{}, "", err
	}
	_, output = o.shown(f.Spec)
	return *v.Session.Verified, output, nil
}

// look returns the facts of now.
func (v *Verifier) look(ctx context.Context) (Facts, git.Base, error) {
	r := v.Session
	does, err := v.Doing(ctx)
	if err != nil {
		return Facts{}, git.Base{}, err
	}
	f := Facts{Spec: r.Spec.Verify, Was: r.Verified, Finish: r.Spec.Finish, Given: does.Since, Ended: does.Ended, From: r.FinishFrom}
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, errSlow)
	defer cancel()
	if v.Workspace.Git == nil {
		return f, git.Base{}, errors.New("git cannot run in its workspace")
	}
	base, err := v.Workspace.Base(ctx)
	if err != nil {
		return f, base, fmt.Errorf("find its base: %w", err)
	}
	if f.Based = base.Commit != "HEAD"; !f.Based {
		return f, base, nil
	}
	ahead, err := base.Ahead(ctx, v.Workspace.Git)
	if err == nil {
		f.Works = ahead > 0
		f.Commit, err = v.head(ctx)
	}
	if err == nil {
		f.Unsaved, err = git.UnsavedFiles(ctx, v.Workspace.Git)
	}
	if !f.Works && r.Tree.Mode == session.InPlace {
		f.Unsaved = nil // they may be those of whose checkout it is
	}
	return f, base, err
}

// none returns why there is no commit to verify, or "".
func none(f Facts, base git.Base) string {
	switch {
	case !f.Based:
		return "its branch has no base: workspace.base names what its commits are compared with"
	case !f.Works:
		return fmt.Sprintf("its branch has no commit that %s lacks", base.Name)
	}
	return ""
}

// headsPrefix begins the refs of branches.
const headsPrefix = "refs/heads/"

// head returns the commit of the workspace, which is that of the session's branch.
func (v *Verifier) head(ctx context.Context) (string, error) {
	ref, err := v.Workspace.Git(ctx, "rev-parse", "--symbolic-full-name", "HEAD")
	if err != nil {
		return "", err
	}
	if branch := v.Session.Tree.Branch; strings.TrimSpace(ref) != headsPrefix+branch {
		return "", fmt.Errorf("its workspace is not on its branch %s", branch)
	}
	commit, err := v.Workspace.Git(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	return strings.TrimSpace(commit), err
}

// renew records that a commit is verified also after another turn, which changed nothing.
func (v *Verifier) renew(ctx context.Context, f Facts) error {
	if does, err := v.Doing(ctx); err != nil || v.worksOn(f, does) || !does.Ended.Equal(f.Ended) {
		return errors.Join(ErrWorksOn, err)
	}
	still := *f.Was
	still.At = v.Now().UTC()
	return v.Record(ctx, f.Was, still)
}

// worksOn reports whether the agent was given something since the facts were found.
func (v *Verifier) worksOn(f Facts, does session.Doing) bool {
	return does.Run != v.Session.Run.ID || !does.Since.Equal(f.Given)
}

// commit commits what the turn of the agent has left, as the agent would, and returns the facts of
// then.
func (v *Verifier) commit(ctx context.Context, f Facts) (Facts, git.Base, error) {
	ran, err := v.execute(ctx, f, commitAll("Commit the work of "+string(v.Session.Address)))
	if err != nil {
		return f, git.Base{}, err
	}
	now, base, err := v.look(ctx)
	if now.Uncommittable = ran.Failed; now.Uncommittable == "" {
		now.Uncommittable = "files have changed since"
	}
	return now, base, err
}

// run verifies a commit, records the outcome, and returns it.
func (v *Verifier) run(ctx context.Context, f Facts, base git.Base) (Outcome, error) {
	o := Outcome{Unsaved: f.Unsaved, Uncommittable: f.Uncommittable}
	if len(o.Unsaved) == 0 {
		o.None = none(f, base)
	}
	var err error
	switch {
	case o.None != "" || len(o.Unsaved) > 0:
	case v.ran.of(f): // only its record is missing
		o = v.ran.outcome
	default:
		if o.Protected, o.Diff, err = v.protected(ctx, f, base); err == nil {
			o.Ran, o.Moved, o.Changed, err = v.command(ctx, f)
		}
	}
	if err != nil {
		return o, err
	}
	does, err := v.Doing(ctx)
	if err != nil || v.worksOn(f, does) ||
		!does.Ended.Equal(f.Ended) && (o.Moved != "" || len(o.Changed) > 0) { // it did that, unasked
		return o, errors.Join(ErrWorksOn, err)
	}
	if v.ran != nil {
		*v.ran = ran{f, o}
	}
	now := Judge(f, o, v.Now())
	return o, v.record(ctx, f, now)
}

// protected returns the files that a commit changes and must not, and how it does.
func (v *Verifier) protected(ctx context.Context, f Facts, base git.Base) (files []string, diff string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, errSlow)
	defer cancel()
	all, err := base.FilesChanged(ctx, v.Workspace.Git, f.Commit)
	if files = Protected(f.Spec.Protect, all); err == nil && len(files) > 0 {
		diff, err = base.DiffOf(ctx, v.Workspace.Git, f.Commit, files)
	}
	return files, firstLines(diff), err
}

// command runs the command, and returns what it left otherwise in the workspace.
func (v *Verifier) command(ctx context.Context, f Facts) (ran session.Verification, moved string, changed []string, err error) {
	argv := f.Spec.Command
	if f.Spec.Clean {
		argv = Fresh(f.Commit, v.Session.Spec.Workspace.Setup, argv)
	}
	ran, waited, err := v.inTurn(ctx, f, argv)
	if err == nil && f.Spec.Clean {
		err = untested(ran)
	}
	if err == nil {
		moved, changed, err = v.left(ctx, f)
	}
	if err == nil && waited && (moved != "" || len(changed) > 0) {
		err = ErrOutdated // that may be from before the command ran
	}
	return ran, moved, changed, err
}

// inTurn runs a command as soon as it may, and reports whether it had to wait for that.
func (v *Verifier) inTurn(ctx context.Context, f Facts, argv []string) (ran session.Verification, waited bool, err error) {
	if v.Slot != nil {
		var release func()
		if release, waited, err = v.Slot(ctx); err != nil {
			return ran, waited, err
		}
		defer release()
	}
	ran, err = v.execute(ctx, f, argv)
	return ran, waited, err
}

// execute runs a command where the agent works.
func (v *Verifier) execute(ctx context.Context, f Facts, argv []string) (session.Verification, error) {
	rt, can := v.Runtime.(session.Verifier)
	if !can {
		return session.Verification{}, fmt.Errorf("%w: its runtime has no verifications", session.ErrUnprobeable)
	}
	return rt.Verify(ctx, v.Place, v.Session.Run.ID, argv, f.Spec.Timeout.D())
}

// left returns the commit of the workspace, or its branch, if it is another one, and the files that have
// changed.
func (v *Verifier) left(ctx context.Context, f Facts) (moved string, changed []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lookLimit, errSlow)
	defer cancel()
	ref, err := v.Workspace.Git(ctx, "rev-parse", "--symbolic-full-name", "HEAD")
	if ref = strings.TrimSpace(ref); err != nil || ref != headsPrefix+v.Session.Tree.Branch {
		return ref, nil, err
	}
	out, err := v.Workspace.Git(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	if err == nil {
		changed, err = git.UnsavedFiles(ctx, v.Workspace.Git)
	}
	if moved = strings.TrimSpace(out); moved == f.Commit {
		moved = ""
	}
	return moved, changed, err
}

// record records an outcome, and reports it.
func (v *Verifier) record(ctx context.Context, f Facts, now session.Verified) error {
	if err := v.Record(ctx, f.Was, now); err != nil {
		return err
	}
	v.Session.Verified = &now
	e := history.Event{Kind: history.Verified, New: now.Commit}
	if !now.OK {
		e.Kind, e.Reason, e.Detail = history.VerificationFailed, now.Word(f.Spec.Rounds), now.Detail
	}
	v.Tell(e)
	if now.Held && (f.Was == nil || !f.Was.Held || f.Given.After(f.Was.At)) { // otherwise someone was notified
		v.escalate(now)
	}
	return nil
}

// escalate reports that a person is needed.
func (v *Verifier) escalate(now session.Verified) {
	v.Tell(history.Event{Kind: history.Escalated, Reason: string(history.VerificationFailed), New: now.Commit, Detail: now.Detail})
}

// unsentBecause is between a failure that the agent was not sent, and why not.
const unsentBecause = "; its agent could not be sent that: "

// send gives the agent the failure that is recorded. The error is ErrOutdated if it takes no text
// now, and then nothing was sent.
func (v *Verifier) send(ctx context.Context, f Facts, o Outcome) error {
	if v.Takes != nil {
		switch err := v.Takes(); {
		case errors.Is(err, ErrOutdated):
			return err
		case err != nil:
			return v.hold(ctx, f, f.Was.Detail+unsentBecause+err.Error())
		}
	}
	was := *f.Was
	sent := *f.Was
	sent.SentAt = v.Now().UTC()
	if err := v.Record(ctx, f.Was, sent); err != nil {
		return err
	}
	v.Session.Verified = &sent
	f.Was = &sent
	command, output := o.shown(sent.Block)
	err := v.Send(ctx, Message(sent, command, output))
	if Untyped(err) {
		return errors.Join(ErrOutdated, err, v.Record(context.WithoutCancel(ctx), &sent, was))
	}
	if err != nil {
		return errors.Join(err, v.hold(context.WithoutCancel(ctx), f, sent.Detail+unsentBecause+err.Error()))
	}
	return nil
}

// Untyped reports whether an error of Send means that nothing was typed, but may be later: the
// session is paused, its agent asks a question, or somebody has begun to type.
func Untyped(err error) bool {
	_, paused := errors.AsType[*input.PausedError](err)
	_, asks := errors.AsType[*input.DialogError](err)
	_, drafts := errors.AsType[*input.DraftError](err)
	return paused || asks || drafts
}

// hold records that the session needs a person.
func (v *Verifier) hold(ctx context.Context, f Facts, detail string) error {
	held := *f.Was
	held.Held, held.Detail = true, detail
	if err := v.Record(ctx, f.Was, held); err != nil {
		return err
	}
	v.Session.Verified = &held
	v.escalate(held)
	return nil
}
