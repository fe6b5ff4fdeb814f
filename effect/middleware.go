package effect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// Done is an effect that was carried out, with its result.
type Done struct {
	Effect Effect
	Result any // as Handler.Handle gives it
	Err    error
	Took   time.Duration
}

// Record calls a function after each effect.
func Record(h Handler, tell func(Done)) Handler {
	return HandlerFunc(func(ctx context.Context, e Effect) (any, error) {
		began := time.Now()
		v, err := h.Handle(ctx, e)
		tell(Done{Effect: e, Result: v, Err: err, Took: time.Since(began)})
		return v, err
	})
}

// Journal writes the events of each session to its history, in a directory of its own
// below dir. A write error is returned with the effect's result.
func Journal(h Handler, dir string) Handler {
	var mu sync.Mutex
	last := map[string]session.Status{} // by run
	return HandlerFunc(func(ctx context.Context, e Effect) (any, error) {
		v, err := h.Handle(ctx, e)
		if err != nil {
			return v, err
		}
		var of agentform.Handle
		var event history.Event
		switch e := e.(type) {
		case Launch:
			of = v.(agentform.Handle)
			event = history.Event{Kind: history.Launched, Detail: of.Agent}
		case Send:
			of = e.Session
			// What was sent stays out of the history: it may hold anything.
			event = history.Event{Kind: history.Sent, Detail: fmt.Sprintf("%d bytes", len(e.Input.Text))}
			if e.Input.Key != "" {
				event.Detail = "key " + e.Input.Key
			}
		case Answer:
			of = e.Session
			event = history.Event{Kind: history.Sent, Detail: fmt.Sprintf("answer, %d bytes", len(e.Text))}
		case Monitor:
			of = e.Session
			o := v.(agentform.Observation)
			mu.Lock()
			old := last[of.Run]
			last[of.Run] = o.Status
			mu.Unlock()
			if old == o.Status {
				return v, nil
			}
			event = history.Event{Kind: history.StatusChanged, Old: string(old), New: string(o.Status), Detail: o.Detail, Excerpt: o.Snippet, Question: o.Question}
		case Stop:
			of = e.Session
			event = history.Event{Kind: history.RunEnded, Reason: "requested"}
		default:
			return v, nil
		}
		event.Time, event.Address, event.ID, event.Run = time.Now(), session.Single(of.Name), of.Name, of.Run
		return v, history.Append(filepath.Join(dir, of.Name), event)
	})
}

// DryRun does nothing and reports each effect in a line. The results are made up.
func DryRun(say func(line string)) Handler {
	return HandlerFunc(func(_ context.Context, e Effect) (any, error) {
		switch e := e.(type) {
		case Launch:
			say(fmt.Sprintf("launch %s (%s) in %s", e.Name, e.Spec.Agent.Name, e.Spec.Workspace.Path))
			return agentform.Handle{Name: e.Name, Agent: e.Spec.Agent.Name, Dir: e.Spec.Workspace.Path, Run: "dry-run"}, nil
		case Monitor:
			say("monitor " + e.Session.Name)
			return agentform.Observation{Status: session.StatusDone, Activity: session.Done}, nil
		case Capture:
			say("capture " + e.Session.Name)
			return "", nil
		case Send:
			line, _, more := strings.Cut(e.Input.Text, "\n")
			switch {
			case e.Input.Key != "":
				line = "key " + e.Input.Key
			case more:
				line += " …"
			}
			say("send to " + e.Session.Name + ": " + line)
			return None{}, nil
		case Answer:
			say("answer " + e.Session.Name + ": " + e.Text)
			return None{}, nil
		case Stop:
			say("stop " + e.Session.Name)
			return None{}, nil
		case Sleep:
			say("sleep " + e.For.String())
			return None{}, nil
		}
		return nil, fmt.Errorf("effect %T is not known", e)
	})
}

// Retry carries out a failed effect again, up to so many times in all, with Sleep effects
// between. It retries no Send, no Answer, no Launch of a name that is taken, and nothing once the
// context has ended.
func Retry(h Handler, times int, between time.Duration) Handler {
	return HandlerFunc(func(ctx context.Context, e Effect) (any, error) {
		for n := 1; ; n++ {
			v, err := h.Handle(ctx, e)
			_, sends := e.(Send)
			_, answers := e.(Answer)
			if err == nil || n >= times || sends || answers || errors.Is(err, session.ErrExists) || ctx.Err() != nil {
				return v, err
			}
			if _, slept := h.Handle(ctx, Sleep{For: between}); slept != nil {
				return v, errors.Join(err, slept)
			}
		}
	})
}
