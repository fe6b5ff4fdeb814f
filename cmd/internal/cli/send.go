package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/session"
)

// maxSend bounds a text: a prompt, and not a file by mistake.
const maxSend = 1 << 20

type sendOptions struct {
	session.Input
	command bool // a command of the agent's own
}

func sendCommand(a *app) *cobra.Command {
	var o sendOptions
	c := &cobra.Command{
		Use:   "send ADDR [TEXT | -]",
		Short: "Send a prompt or key to an agent",
		Long: `Types TEXT into the session, submits it, and returns once the agent has accepted it. A draft
in the input box is cleared first. If the agent is busy, the message is queued. "-" reads
the text from standard input.

Text is refused while the agent asks a question: agentform answer answers it. --key presses
a key whatever the screen shows (tmux key names: y, 1, Enter, Escape, Up, C-c).

Text that looks like an agent command, such as /clear, is sent as plain text unless
--command is given. With --no-enter the text is typed and not submitted.`,
		Example: `  agentform send api 'Use plain net/http, please.'
  agentform send api - < review.md
  agentform send api --key y
  agentform send api --command /compact
  agentform send api 'a draft' --no-enter`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case (len(args) == 2) == (o.Key != ""):
				return usageError{c.CommandPath(), errors.New("give TEXT or --key")}
			case o.command && (o.Key != "" || o.NoEnter):
				return usageError{c.CommandPath(), errors.New("--command cannot be combined with --key or --no-enter")}
			case len(args) == 2:
				o.Text = args[1]
			}
			return runSend(c.Context(), a, args[0], o)
		},
	}
	c.Flags().BoolVar(&o.NoEnter, "no-enter", false, "type without submitting")
	c.Flags().StringVar(&o.Key, "key", "", "send a `key`, also when a dialog is open")
	c.Flags().BoolVar(&o.command, "command", false, "send TEXT as an agent command, such as /compact")
	completeFlag(c, "key", words("y", "n", "Enter", "Escape", "Up", "Down", "Left", "Right", "Tab", "BSpace", "C-c", "C-d", "C-u"))
	return c
}

func runSend(ctx context.Context, a *app, typed string, o sendOptions) error {
	if o.Text == "-" {
		text, err := io.ReadAll(io.LimitReader(a.env.Stdin, maxSend+1))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		o.Text = strings.TrimRight(string(text), "\n")
	}
	switch {
	case len(o.Text) > maxSend:
		return fmt.Errorf("the text is longer than %d KiB: put it into a file and send where that is", maxSend>>10)
	case o.Key == "" && o.Text == "":
		return errors.New("nothing to send: TEXT is empty\nto press Enter: --key Enter")
	}
	t, err := openTarget(ctx, a, typed)
	if err != nil {
		return err
	}
	if err := t.checkRunning(); err != nil {
		return err
	}
	outcome, sent, err := t.project.Activity().Send(ctx, t.runtime, t.Record, *t.Live, o.Input, o.command, a.log)
	if err != nil {
		return t.withRemedy(fmt.Errorf("send to %s: %w", t.Record.Address, err))
	}
	sent.By = t.project.Who().User
	if outcome == input.Queued {
		sent.Detail += ", queued"
		fmt.Fprintf(a.env.Stderr, "queued: %s is working\n", t.Record.Address)
	}
	if err := t.record(sent); err != nil {
		a.log.Warn("it was sent, but the history cannot be written", "error", err)
	}
	return nil
}
