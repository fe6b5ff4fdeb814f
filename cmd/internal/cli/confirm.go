package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// confirm asks for a yes. instead is the flag that answers beforehand; without
// a terminal to ask at, the error names it.
func confirm(a *app, question, instead string) error {
	if !terminal(a.env.Stdin) {
		return fmt.Errorf("cannot ask for approval: standard input is no terminal\nGo on with: %s", instead)
	}
	fmt.Fprintf(a.env.Stderr, "\n%s\n  Only 'yes' will be accepted: ", question)
	answer, err := answer(a)
	if err != nil {
		return err
	}
	if answer != "yes" {
		return errors.New("not approved: nothing was changed")
	}
	return nil
}

// answer reads the line that answers a question, without its end and the space
// around it. An input that ends is an empty line. Ctrl-C is an answer, too: the
// command ends then, as interrupted.
func answer(a *app) (string, error) {
	ctx, stop := untilInterrupted(context.Background())
	defer stop()
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1) // so that the reader, which nothing can call off, can end
	go func() {
		text, err := bufio.NewReader(a.env.Stdin).ReadString('\n')
		typed <- line{text, err}
	}()
	var l line
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.env.Stderr)
		return "", outcome(exitInterrupted)
	case l = <-typed:
	}
	if l.err != nil {
		fmt.Fprintln(a.env.Stderr) // nobody has ended the question's line
	}
	if l.err != nil && !errors.Is(l.err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", l.err)
	}
	return strings.TrimSpace(l.text), nil
}
