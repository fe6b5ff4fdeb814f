package cli

import (
	"errors"
	"io"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
)

// results are what became of several sessions.
type results[T any] struct {
	verb  string // of the summary: sent to
	all   int    // sessions, also those that were not begun
	given []T
	fault func(T) error
	good  func(T) bool // nil: all without a fault are
	line  func(T) error
	json  func(io.Writer, []T) error
	to    io.Writer // of the summary if nothing failed; nil: there is none
}

// end prints the results, and last the summary. A result that is not good is a failure that its line
// has named.
func (r results[T]) end(a *app) error {
	m := view.Many{Verb: r.verb, All: r.all, Left: r.all - len(r.given)}
	var errs []error
	bad := 0
	for _, x := range r.given {
		if err := r.fault(x); err != nil {
			errs = append(errs, err)
			continue
		}
		if r.good != nil && !r.good(x) {
			bad++
		}
		if !a.JSON {
			if err := r.line(x); err != nil {
				return err
			}
		}
	}
	if a.JSON {
		if err := r.json(a.Out, r.given); err != nil {
			return err
		}
	}
	m.Failed = len(errs) + bad
	m.Done = len(r.given) - m.Failed
	if err := endMany(a, m, r.to, errs); err != nil || bad == 0 {
		return err
	}
	return exit.Error
}

// endMany ends a command for several sessions: it prints errors, and last the summary. If
// nothing failed the summary goes to w; nil: there is none.
func endMany(a *app, m view.Many, w io.Writer, errs []error) error {
	err := errors.Join(errs...)
	switch {
	case m.All < 2:
		return err
	case err == nil && m.Left == 0 && (w == nil || a.JSON):
		return nil
	case err == nil && m.Left == 0:
		return view.Summaries(w, a.Style(w), m, nil)
	}
	if err := view.Summaries(a.Err, a.ErrStyle(), m, errs); err != nil {
		return err
	}
	if m.Left > 0 {
		return exit.Interrupted
	}
	return exit.Of(err)
}

// noneRunning says that flags chose no session that runs.
func noneRunning(a *app) { a.Say("No sessions are running.") }
