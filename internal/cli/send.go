package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// maxSend is the most that is typed into an agent at once: a prompt, and not a
// file by mistake.
const maxSend = 1 << 20

func (a *app) sendCommand() *cobra.Command {
	var in session.Input
	c := &cobra.Command{
		Use:   "send ADDR [TEXT | -]",
		Short: "Type into an agent, and see that it was submitted",
		Long: `Types TEXT into the session and submits it, verifying that it was. "-" reads the text
from standard input. With --key one named key is pressed instead: Enter, Escape, Up,
C-c (tmux's names).`,
		Example: `  agentform send api 'Use plain net/http, please.'
  agentform send api - < review.md
  agentform send api --key Enter
  agentform send api 'a draft' --no-enter`,
		Args:              arguments(1, 2),
		ValidArgsFunction: a.completeAddresses(1),
		RunE: func(c *cobra.Command, args []string) error {
			if (len(args) == 2) == (in.Key != "") {
				return usageError{c.CommandPath(), errors.New("want a text, or --key: one of the two")}
			}
			if len(args) == 2 {
				in.Text = args[1]
			}
			return a.runSend(c.Context(), args[0], in)
		},
	}
	c.Flags().BoolVar(&in.NoEnter, "no-enter", false, "only type, do not submit")
	c.Flags().StringVar(&in.Key, "key", "", "press this `key`")
	completeFlag(c, "key", words("Enter", "Escape", "Up", "Down", "Left", "Right", "Tab", "BSpace", "C-c", "C-d", "C-u"))
	return c
}

func (a *app) runSend(ctx context.Context, typed string, in session.Input) error {
	if in.Text == "-" {
		text, err := io.ReadAll(io.LimitReader(a.env.Stdin, maxSend+1))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		in.Text = strings.TrimRight(string(text), "\n")
	}
	switch {
	case len(in.Text) > maxSend:
		return fmt.Errorf("the text is longer than %d KiB: put it into a file and send where that is", maxSend>>10)
	case in.Key == "" && in.Text == "":
		return errors.New("nothing to send: the text is empty\nTo press Enter: --key Enter")
	}
	t, err := a.aim(ctx, typed)
	if err != nil {
		return err
	}
	if err := t.live(); err != nil {
		return err
	}
	if err := t.runtime.Send(ctx, t.place(), in); err != nil {
		return t.refused(fmt.Errorf("send to %s: %w", t.Record.Address, err))
	}
	// What was sent stays out of the history: it may hold anything.
	detail := fmt.Sprintf("%d bytes", len(in.Text))
	if in.Key != "" {
		detail = "key " + in.Key
	}
	if err := t.note(history.Event{Time: time.Now(), Kind: history.Sent, By: a.who().User, Detail: detail}); err != nil {
		a.log.Warn("it was sent, and the history cannot be written", "error", err)
	}
	return nil
}
