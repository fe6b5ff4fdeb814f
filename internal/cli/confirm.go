package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// confirm asks for a yes. instead is the flag that answers beforehand; without
// a terminal to ask at, the error names it.
func (a *app) confirm(question, instead string) error {
	if !terminal(a.env.Stdin) {
		return fmt.Errorf("cannot ask for approval: standard input is no terminal\nGo on with: %s", instead)
	}
	fmt.Fprintf(a.env.Stderr, "\n%s\n  Only 'yes' will be accepted: ", question)
	answer, err := readLine(a.env.Stdin)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer != "yes" {
		return errors.New("not approved: nothing was changed")
	}
	return nil
}

// readLine reads one line, without its end and the space around it. An input
// that ends is an empty line.
func readLine(in io.Reader) (string, error) {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}
