package effect

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
)

// Completion configures ToCompletion.
type Completion struct {
	Until agentform.Until // empty: agentform.UntilTurn
	Poll  time.Duration   // between looks; 0: a second
	Limit time.Duration   // of all looks together; 0: none
	Lines int             // of the screen that Result.Output has; 0: 100
	// Blocked is called each time the agent starts to wait for an answer. It returns the answer as
	// a text, or a key to press; empty: the agent keeps waiting. A text is an Answer if the
	// observation has the question, and otherwise is typed unchanged, followed by Enter.
	Blocked func(agentform.Observation) session.Input
	// Idle is called each time a turn has ended, and returns what begins the next; empty:
	// there is no next.
	Idle func(agentform.Observation) session.Input
}

// Result is the result of ToCompletion.
type Result struct {
	Session   agentform.Handle
	Status    session.Status
	Activity  session.Activity
	TurnEnded bool // it had finished its last input
	Detail    string
	PR        string        // the last pull request that was seen; empty: none
	Answer    string        // the agent's last message in its session file; empty: it keeps none
	Output    string        // the end of the screen
	Exit      *session.Exit // how the agent ended, when it has
}

// Succeeded reports whether the session was done, ended its turn, or exited by itself with 0.
func (r Result) Succeeded() bool {
	return r.TurnEnded || r.Status == session.StatusDone || r.Status == session.StatusExited && (r.Exit == nil || r.Exit.Clean())
}

// ErrLimit means that a session did not end within Completion.Limit.
var ErrLimit = errors.New("the session did not end in time")

// ToCompletion launches a session, observes it until its turn has ended or it has exited,
// keeps the end of its screen, and stops it. With an error, the Result has what was last
// observed.
func ToCompletion(name string, spec session.Spec, how Completion) Program[Result] {
	return func(ctx context.Context, h Handler) (r Result, err error) {
		_, err = WithSession(name, spec, func(ctx context.Context, h Handler, s agentform.Handle) (None, error) {
			r.Session = s
			return None{}, follow(ctx, h, how, &r)
		})(ctx, h)
		return r, err
	}
}

// follow observes a session until its end.
func follow(ctx context.Context, h Handler, how Completion, r *Result) error {
	poll, lines := cmp.Or(max(0, how.Poll), time.Second), cmp.Or(max(0, how.Lines), 100)
	var waited time.Duration
	for {
		o, err := Do(ctx, h, Monitor{r.Session})
		if err != nil {
			return err
		}
		asks := o.Status == session.StatusBlocked && r.Status != session.StatusBlocked
		rests := o.TurnEnded && !r.TurnEnded
		r.Status, r.Activity, r.TurnEnded, r.Detail, r.Exit = o.Status, o.Activity, o.TurnEnded, o.Detail, o.Exit
		r.Answer, r.PR = cmp.Or(o.Answer, r.Answer), cmp.Or(o.PR, r.PR)
		next := session.Input{}
		switch {
		case asks && how.Blocked != nil:
			next = how.Blocked(o)
		case rests && how.Idle != nil:
			next = how.Idle(o)
		}
		late := how.Limit > 0 && waited >= how.Limit
		ended := o.Status.Terminal() || o.TurnEnded && how.Until != agentform.UntilExit && next == (session.Input{})
		if ended || late {
			if r.Output, err = Do(ctx, h, Capture{r.Session, lines}); errors.Is(err, session.ErrGone) {
				r.Output, err = o.Snippet, nil
			}
			if err == nil && !ended {
				err = ErrLimit
			}
			return err
		}
		switch {
		case next == (session.Input{}):
		case asks:
			err = answer(ctx, h, r.Session, o.Question, next)
		default:
			_, err = Do(ctx, h, Send{r.Session, next})
		}
		if err != nil {
			return err
		}
		if _, err := Do(ctx, h, Sleep{poll}); err != nil {
			return err
		}
		waited += poll
	}
}

// answer sends the result of Completion.Blocked to a waiting agent.
func answer(ctx context.Context, h Handler, s agentform.Handle, q *session.Question, in session.Input) error {
	var err error
	switch text := in.Text != "" && in.Key == ""; {
	case text && q != nil:
		_, err = Do(ctx, h, Answer{s, *q, in.Text})
	case text && !in.NoEnter:
		// Sent at once, it would be refused: a message is no answer.
		if _, err = Do(ctx, h, Send{s, session.Input{Text: in.Text, NoEnter: true}}); err == nil {
			_, err = Do(ctx, h, Send{s, session.Input{Key: "Enter"}})
		}
	default:
		_, err = Do(ctx, h, Send{s, in})
	}
	return err
}

// WithSession launches a session, calls a function with it, and stops it in the end, also
// after a panic or when the context has ended.
func WithSession[R any](name string, spec session.Spec, do func(context.Context, Handler, agentform.Handle) (R, error)) Program[R] {
	return func(ctx context.Context, h Handler) (r R, err error) {
		s, err := Do(ctx, h, Launch{name, spec})
		if err != nil {
			return r, err
		}
		defer func() {
			_, stopped := Do(context.WithoutCancel(ctx), h, Stop{s})
			err = errors.Join(err, stopped)
		}()
		return do(ctx, h, s)
	}
}
