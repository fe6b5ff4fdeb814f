package apply

import (
	"context"
	"errors"
	"strings"
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

// inShort is a failure in one line, without the output and screens that some
// show besides.
func inShort(err error) string {
	text := err.Error()
	var brief interface{ Summary() string }
	var complete interface{ Short() string }
	switch {
	case errors.As(err, &brief):
		text = brief.Summary()
	case errors.As(err, &complete) && text == complete.(error).Error():
		text = complete.Short()
	}
	return firstLine(strings.ReplaceAll(text, context.Canceled.Error(), ErrInterrupted.Error()))
}
