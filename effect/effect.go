package effect

import (
	"context"
	"fmt"
	"time"

	"github.com/agentform/agentform"
	"github.com/agentform/agentform/session"
)

// Effect is an operation on sessions: one of the seven values of this package.
type Effect interface{ effect() }

// Of is an effect whose result is an R.
type Of[R any] interface {
	Effect
	gives() R
}

// Launch starts an agent and returns the handle of its session, as
// agentform.Launcher.Launch does.
type Launch struct {
	Name string // of the place; empty: made up
	Spec session.Spec
}

// Monitor observes a session once.
type Monitor struct{ Session agentform.Handle }

// Capture returns the last lines of a session's screen; Lines 0: all there is.
type Capture struct {
	Session agentform.Handle
	Lines   int
}

// Send types into a session.
type Send struct {
	Session agentform.Handle
	Input   session.Input
}

// Answer answers a question of an Observation, as agentform.Session.Answer does: with yes,
// always or no, with the number or the label of an option, or with a text where the question
// takes one.
type Answer struct {
	Session  agentform.Handle
	Question session.Question
	Text     string
}

// Stop ends a session and verifies that nothing of it is left.
type Stop struct{ Session agentform.Handle }

// Sleep lets time pass.
type Sleep struct{ For time.Duration }

// None is the result of effects that have none.
type None = struct{}

func (Launch) effect()  {}
func (Monitor) effect() {}
func (Capture) effect() {}
func (Send) effect()    {}
func (Answer) effect()  {}
func (Stop) effect()    {}
func (Sleep) effect()   {}

func (Launch) gives() (r agentform.Handle)       { return r }
func (Monitor) gives() (r agentform.Observation) { return r }
func (Capture) gives() (r string)                { return r }
func (Send) gives() (r None)                     { return r }
func (Answer) gives() (r None)                   { return r }
func (Stop) gives() (r None)                     { return r }
func (Sleep) gives() (r None)                    { return r }

// Handler carries out effects. Handle returns the effect's result: an
// agentform.Handle for Launch, an agentform.Observation for Monitor, a string for
// Capture, None for the others.
type Handler interface {
	Handle(ctx context.Context, e Effect) (any, error)
}

// HandlerFunc is a function as a Handler.
type HandlerFunc func(ctx context.Context, e Effect) (any, error)

// Handle calls the function.
func (f HandlerFunc) Handle(ctx context.Context, e Effect) (any, error) { return f(ctx, e) }

// Do carries out one effect with a handler and returns its result.
func Do[R any](ctx context.Context, h Handler, e Of[R]) (R, error) {
	var none R
	v, err := h.Handle(ctx, e)
	if err != nil {
		return none, err
	}
	r, ok := v.(R)
	if !ok {
		return none, fmt.Errorf("effect %T: the handler returned %T, not %T", e, v, none)
	}
	return r, nil
}

// Program is a function that acts by effects alone, and returns an R.
type Program[R any] func(ctx context.Context, h Handler) (R, error)
