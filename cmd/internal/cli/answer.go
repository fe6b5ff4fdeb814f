package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/view"
)

type answerOptions struct {
	target.Reply
	sessionArgs
}

func answerCommand(a *app) *cobra.Command {
	var o answerOptions
	c := &cobra.Command{
		Use:   "answer ADDR... ANSWER",
		Short: "Answer what agents ask",
		Long: `Answers the question that an agent shows: a permission, whether to trust a directory, a
choice. status and show print the question with its answers.

ANSWER is yes, always or no, by what the agent's own options say: yes is for this once and
never chooses an option that also answers later questions; that is always. Or it is the
number or the label of an option. Where the agent takes a text, any other ANSWER is typed as
that text; "-" reads it from standard input. An answer that the question does not have is an
error that lists those it has.

The question is read from the screen right before the answer is given, and the command
returns when it is gone; an answer never goes to another question. --question answers only
the question with that ID (question.id in status --json).

With --all, --role or --label every chosen session that asks something is answered. What
fails is named, the others are answered, and the exit code is 1.
Without ANSWER, at a terminal, the question is shown and the answer read.`,
		Example: `  agentform answer api yes
  agentform answer api web no
  agentform answer api 2
  agentform answer docs 'Use the second layout.'
  agentform answer --all yes --role builder`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			found, directive := o.complete(a)(c, args, typed)
			if len(args) > 0 || o.ByFlag() {
				found = append(found, "yes", "always", "no")
			}
			return found, directive
		},
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && o.ByFlag():
				return exit.Usage(c.CommandPath(), errors.New("missing argument: the answer"))
			case len(args) == 0:
				return exit.Usage(c.CommandPath(), errors.New("missing argument: "+strings.TrimSuffix(c.UseLine(), " [flags]")))
			case o.ByFlag() || len(args) > 1:
				o.Text, args = args[len(args)-1], args[:len(args)-1]
				if strings.TrimSpace(o.Text) == "" {
					return exit.Usage(c.CommandPath(), errors.New("the answer is empty"))
				}
			}
			if err := o.set(c, args); err != nil {
				return err
			}
			if o.Question != "" && (o.ByFlag() || len(o.Typed) > 1) {
				return exit.Usage(c.CommandPath(), errors.New("--question is for one session"))
			}
			return runAnswer(c.Context(), a, o)
		},
	}
	c.Flags().StringVar(&o.Question, "question", "", "answer only the question with this `ID`")
	o.register(a, c, "sessions that ask something")
	return c
}

func runAnswer(ctx context.Context, a *app, o answerOptions) error {
	if o.Text == "-" {
		text, err := io.ReadAll(io.LimitReader(a.In, maxSend+1))
		if err != nil {
			return fmt.Errorf("read standard input: %w", err)
		}
		if o.Text = strings.TrimSpace(string(text)); o.Text == "" || len(text) > maxSend {
			return fmt.Errorf("standard input has no answer of at most %d KiB", maxSend>>10)
		}
	}
	targets, err := openAsking(ctx, a, o)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		if a.JSON {
			return view.AnswersJSON(a.Out, nil)
		}
		fmt.Fprintln(a.Err, "No session asks a question: nothing was answered.")
		return nil
	}
	if o.Text == "" {
		if o.Reply, err = askPerson(a, targets); err != nil {
			return err
		}
	}
	given := make([]view.Answer, len(targets))
	begun := a.Each(ctx, len(targets), a.Open().Parallelism, func(ctx context.Context, i int) {
		given[i] = targets[i].Answer(ctx, o.Reply)
	})
	return results[view.Answer]{
		verb: "answered", all: len(targets), given: given[:begun], json: view.AnswersJSON, to: a.Out,
		fault: func(x view.Answer) error { return x.Err },
		line:  func(x view.Answer) error { return view.AnswerLine(a.Out, a.OutStyle(), x) },
	}.end(a)
}
