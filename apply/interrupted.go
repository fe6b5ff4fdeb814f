package apply

import (
	"context"
	"errors"
	"strings"

	"github.com/agentform/agentform/internal/git"
)

// brokenOff is the error of what was under way when ctx was cancelled, in a
// person's words.
type brokenOff struct{ err error }

// Error says "interrupted" where the program's own word for it stands.
func (e brokenOff) Error() string {
	return strings.ReplaceAll(e.err.Error(), context.Canceled.Error(), ErrInterrupted.Error())
}

// Unwrap is the error as it came.
func (e brokenOff) Unwrap() error { return e.err }

// inWords is the error as a person is told it.
func inWords(err error) error {
	if errors.Is(err, context.Canceled) {
		return brokenOff{err}
	}
	return err
}

// cause returns the error that says all there is to say, without what it was wrapped
// in on its way.
func cause(err error) error {
	var base *git.BaseError
	if errors.As(err, &base) {
		return base
	}
	return err
}

// inShort is a failure in one line, without the output and screens that some
// show besides.
func inShort(err error) string {
	text := err.Error()
	var brief interface{ Summary() string }
	if errors.As(err, &brief) {
		text = brief.Summary()
	}
	return firstLine(strings.ReplaceAll(text, context.Canceled.Error(), ErrInterrupted.Error()))
}
