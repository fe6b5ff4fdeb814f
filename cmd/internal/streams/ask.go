package streams

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/internal/plaintext"
)

// Confirm asks a question that only yes approves. instead is the command line that asks nothing.
func (s *Streams) Confirm(question, instead string) error {
	if !IsTerminal(s.In) {
		return fmt.Errorf("cannot ask for approval: standard input is not a terminal\nuse: %s", instead)
	}
	fmt.Fprintf(s.Err, "\n%s\n  Only 'yes' will be accepted: ", question)
	answer, err := s.Answer()
	if err != nil {
		return err
	}
	if answer != "yes" {
		return errors.New("not approved: no changes made")
	}
	return nil
}

// Answer returns a line of the input without white space around it; "" at its end.
func (s *Streams) Answer() (string, error) {
	text, err := s.ReadLine()
	if errors.Is(err, io.EOF) {
		return text, nil
	}
	return text, err
}

// ReadLine returns a line of the input without white space around it. With io.EOF the line may have
// no line break.
func (s *Streams) ReadLine() (string, error) {
	ctx, stop := UntilInterrupted(context.Background())
	defer stop()
	var text string
	typed := make(chan error, 1) // buffered, so that the reader, which cannot be canceled, can end
	go func() {
		var err error
		text, err = bufio.NewReader(s.In).ReadString('\n')
		typed <- err
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(s.Err)
		return "", exit.Interrupted
	case err := <-typed:
		if err != nil {
			fmt.Fprintln(s.Err) // end the question's line
			return strings.TrimSpace(text), fmt.Errorf("read the answer: %w", err)
		}
	}
	return strings.TrimSpace(text), nil
}

// Choose asks for one of several names, by number or name. The first is the default. The error is
// io.EOF if the input ends.
func (s *Streams) Choose(question string, names []string) (string, error) {
	fmt.Fprintln(s.Err, question)
	for i, name := range names {
		fmt.Fprintf(s.Err, "  %d  %s\n", i+1, name)
	}
	for {
		text, err := s.ask(fmt.Sprintf("Number or name [1 %s]: ", names[0]))
		if err != nil {
			return "", err
		}
		if text == "" {
			text = names[0]
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(names) {
			text = names[n-1]
		}
		if slices.Contains(names, text) {
			fmt.Fprintln(s.Err)
			return text, nil
		}
		fmt.Fprintf(s.Err, "Enter %s.\n", plaintext.List(names, "or"))
	}
}

// YesOrNo asks a question whose default is no. The error is io.EOF if the input ends.
func (s *Streams) YesOrNo(question string) (bool, error) {
	fmt.Fprintln(s.Err, question)
	for {
		text, err := s.ask("Yes or no [no]: ")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(text) {
		case "y", "yes":
			fmt.Fprintln(s.Err)
			return true, nil
		case "", "n", "no":
			fmt.Fprintln(s.Err)
			return false, nil
		}
		fmt.Fprintln(s.Err, "Enter yes or no.")
	}
}

func (s *Streams) ask(prompt string) (string, error) {
	fmt.Fprint(s.Err, prompt)
	return s.ReadLine()
}
