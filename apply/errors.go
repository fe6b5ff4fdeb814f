package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/remedy"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// ErrInterrupted is among the errors of a run that was interrupted before it was
// complete.
var ErrInterrupted = errors.New("interrupted")

// ErrNoConversation means that there is no conversation to resume.
var ErrNoConversation = errors.New("there is no conversation to resume")

// ConversationGoneError means that an agent no longer has the conversation that a session is to
// resume. Nothing was ended.
type ConversationGoneError struct {
	Address      session.Address
	Agent        string
	Conversation string
}

// Error returns the remedy.
func (e *ConversationGoneError) Error() string {
	return remedy.With(fmt.Sprintf("its conversation %s is gone: %s no longer has its file", e.Conversation, e.Agent),
		session.Remedy{Code: session.RemedyFreshConversation, Address: e.Address})
}

// failure is the error of a change that failed.
type failure struct {
	action  plan.Action
	address session.Address
	err     error
}

// Error names the action and the session, and has the whole reason.
func (f *failure) Error() string { return fmt.Sprintf("%s %s: %v", f.action, f.address, f.err) }

// Reported returns the failure in one line, for readers of the event that has it whole.
func (f *failure) Reported() string {
	return fmt.Sprintf("%s %s: %s", f.action, f.address, summary(f.err))
}

// Unwrap returns the reason.
func (f *failure) Unwrap() error { return f.err }

// interruptedError replaces the standard library's word for a canceled context.
type interruptedError struct{ err error }

// Error returns the error's text, in which canceled contexts are interrupted.
func (e interruptedError) Error() string { return sayInterrupted(e.err.Error()) }

// Unwrap returns the error.
func (e interruptedError) Unwrap() error { return e.err }

func sayInterrupted(text string) string {
	return strings.ReplaceAll(text, context.Canceled.Error(), ErrInterrupted.Error())
}

// readable returns an error in words for people.
func readable(err error) error {
	if errors.Is(err, context.Canceled) {
		return interruptedError{err}
	}
	return err
}

// cause returns the part of the error of a failed start that is complete by itself, such
// as what git printed, without the operations in which it was wrapped.
func cause(err error) error {
	for e := err; e != nil; {
		if _, complete := e.(interface{ Short() string }); complete {
			return e
		}
		switch x := e.(type) { //nolint:errorlint // one level
		case interface{ Unwrap() error }:
			e = x.Unwrap()
		case interface{ Unwrap() []error }:
			if e = nil; len(x.Unwrap()) == 1 {
				e = x.Unwrap()[0]
			}
		default:
			e = nil
		}
	}
	return err
}

// summary returns a failure in one line, without the output and screens that some have.
func summary(err error) string {
	text := err.Error()
	var brief interface{ Summary() string }
	var complete interface{ Short() string }
	switch {
	case errors.As(err, &brief):
		text = brief.Summary()
	case errors.As(err, &complete) && text == complete.(error).Error():
		text = complete.Short()
	}
	return firstLine(sayInterrupted(text))
}

// summaryLimit is how much of a failure the record has, in bytes. The history has all.
const summaryLimit = 400

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return plaintext.Cut(s, summaryLimit, "…")
}
