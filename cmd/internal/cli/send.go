package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/input"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// maxSend bounds a text: a prompt, and not a file by mistake.
const maxSend = 1 << 20

type sendOptions struct {
	sessionArgs
	session.Input          // without Key
	keys          []string // in their order
	command       bool     // a command of the agent's own
}

func sendCommand(a *app) *cobra.Command {
	var o sendOptions
	c := &cobra.Command{
		Use:   "send ADDR... [TEXT | -]",
		Short: "Send a prompt or key to agents",
		Long: `Types TEXT into the sessions, submits it, and returns once the agents have accepted it. A
draft in the input box is cleared first. If an agent is busy, the message is queued. "-" reads
the text from standard input.

Text is refused while the agent asks a question: agentform answer answers it. --key presses
a key whatever the screen shows (tmux key names: y, 1, Enter, Escape, Up, C-c); given several
times, one after the other.

Text that looks like an agent command, such as /clear, is sent as plain text unless
--command is given. With --no-enter the text is typed and not submitted.

Several sessions, named or chosen with --all, --role and --label, get it at the same time, as
many at once as --parallelism says. What fails is named, the others get it, and the exit code
is 1.`,
		Example: `  agentform send api 'Use plain net/http, please.'
  agentform send api - < review.md
  agentform send api --key y
  agentform send api --key Down --key Enter
  agentform send --all 'Rebase onto main, please.'
  agentform send --role builder --command /compact
  agentform send api 'a draft' --no-enter`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			return o.complete(a)(c, args, typed)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if o.command && (len(o.keys) > 0 || o.NoEnter) {
				return exit.Usage(c.CommandPath(), errors.New("--command cannot be combined with --key or --no-enter"))
			}
			if len(o.keys) == 0 {
				if len(args) == 0 || len(args) == 1 && !o.ByFlag() {
					return exit.Usage(c.CommandPath(), errors.New("missing argument: give TEXT or --key"))
				}
				o.Text, args = args[len(args)-1], args[:len(args)-1]
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			return runSend(c.Context(), a, o)
		},
	}
	c.Flags().BoolVar(&o.NoEnter, "no-enter", false, "type without submitting")
	c.Flags().StringArrayVar(&o.keys, "key", nil, "send a `key`, also when a dialog is open (repeat for several)")
	c.Flags().BoolVar(&o.command, "command", false, "send TEXT as an agent command, such as /compact")
	o.register(a, c, "sessions")
	completeFlag(c, "key", words("y", "n", "Enter", "Escape", "Up", "Down", "Left", "Right", "Tab", "BSpace", "C-c", "C-d", "C-u"))
	return c
}

func runSend(ctx context.Context, a *app, o sendOptions) error {
	if o.Text == "-" {
		text, err := io.ReadAll(io.LimitReader(a.In, maxSend+1))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		o.Text = strings.TrimRight(string(text), "\n")
	}
	switch {
	case len(o.Text) > maxSend:
		return fmt.Errorf("the text is longer than %d KiB: put it into a file and send its path", maxSend>>10)
	case len(o.keys) == 0 && o.Text == "":
		return errors.New("nothing to send: TEXT is empty\nto press Enter: --key Enter")
	}
	for _, key := range o.keys {
		if err := input.CheckKey(key); err != nil {
			return err
		}
	}
	targets, err := openTargets(ctx, a, &o.sessionArgs)
	if err != nil {
		return o.unquoted(err)
	}
	if len(targets) == 0 && !a.JSON {
		noneRunning(a)
		return nil
	}
	given := make([]view.Sent, len(targets))
	reader, inputs := a.Open().Activity(), []session.Input{o.Input}
	if len(o.keys) > 0 {
		inputs = nil
		for _, key := range o.keys {
			inputs = append(inputs, session.Input{Key: key})
		}
	}
	begun := a.Each(ctx, len(targets), a.Open().Parallelism, func(ctx context.Context, i int) {
		given[i] = targets[i].Send(ctx, reader, inputs, o.command)
	})
	return results[view.Sent]{
		verb: "sent to", all: len(targets), given: given[:begun], json: view.SentJSON, to: a.Out,
		fault: func(x view.Sent) error { return x.Err },
		line: func(x view.Sent) error {
			text := x.Outcome
			if x.Outcome == "queued" {
				text += ": it is working"
			}
			return view.Line(a.Out, a.OutStyle(), x.Address, text)
		},
	}.end(a)
}

// unquoted adds what is probably wrong if only the first word of a text is a session.
func (o *sendOptions) unquoted(err error) error {
	if len(o.Typed) < 2 || len(o.keys) > 0 {
		return err
	}
	return fmt.Errorf("%w\nA text of several words needs quotes: agentform send %s 'TEXT'", err, plaintext.ShellWord(o.Typed[0]))
}
