package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/run"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
)

type runOptions struct {
	run.Asked
	prompt, dir string
	wait        bool
	until       string // of --for; empty: not given
}

func runCommand(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run -a AGENT [NAME] [-- ARGS...]",
		Short: "Start a one-off session",
		Long: `Starts a session that no manifest declares. It is not destroyed for missing from the
manifest; otherwise it behaves like any session. No manifest is needed; where there is one,
its agents can be named.

With --branch it gets its own worktree (the branch is created if needed); otherwise it runs
in --work-dir. The default NAME is task-XXXXXXXX. Arguments after -- are passed to the agent.

With --wait it returns when the agent has finished its turn or the session has ended. It
waits for the exit of a one-shot agent, of an agent without a prompt, of one that does not
show when a turn ends, and with --for=exit of any agent. It prints the agent's answer to
standard output: from its session file, or from its screen where it has none. Progress and
questions of the agent go to standard error.

Exit status: 0 if the turn has ended, or the session is done or exited with 0. 1 if the
session failed, exited otherwise, was stopped, or could not start. 130 if interrupted.

With --rm the session is then removed, also if it could not start, and its workspace if it
has no unsaved work; branches are always kept. Ctrl-C stops waiting and, with --rm, stops
the session.`,
		Example: `  agentform run -a claude -p 'Update the changelog.' --branch agents/changelog
  agentform run -a codex -w ../shop review -- --search
  git diff | agentform run -a gemini -p - --rm`,
		Args: func(c *cobra.Command, args []string) error {
			if named := len(args) - len(afterDash(c, args)); named > 1 {
				return exit.Usage(c.CommandPath(), fmt.Errorf("one NAME, not %d: arguments of the agent go after --", named))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Args = afterDash(c, args)
			if len(args) > len(o.Args) {
				o.Name = args[0]
			}
			for name, d := range map[string]time.Duration{"timeout": o.EndAfter, "ready-timeout": o.ReadyWithin} {
				if d < 0 || d == 0 && c.Flags().Changed(name) {
					return exit.Usage(c.CommandPath(), fmt.Errorf("--%s %s: must be more than 0", name, d))
				}
			}
			switch {
			case o.until != "" && !slices.Contains(run.Until, o.until):
				return exit.Usage(c.CommandPath(), fmt.Errorf("--for %q: must be turn or exit", o.until))
			case o.until != "" && !o.wait && !o.Remove:
				return exit.Usage(c.CommandPath(), errors.New("--for needs --wait or --rm"))
			}
			return runRun(c.Context(), a, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.Agent, "agent", "a", "", "the `agent`: a built-in one, or one of the manifest")
	f.StringVarP(&o.prompt, "prompt", "p", "", "the prompt; - reads standard input")
	f.StringVarP(&o.dir, "work-dir", "w", "", "working `directory`, or the repository for --branch (default: .)")
	f.StringVar(&o.Branch, "branch", "", "create a worktree on this `branch`")
	f.StringVar(&o.Profile, "profile", "", "the agent's own `profile`")
	f.StringVar(&o.Role, "role", "", "its `role` (default \"default\")")
	flags.Labels(f, &o.Labels, "a label, `key=value` (repeatable)")
	flags.Duration(f, &o.EndAfter, "timeout", 0, "stop the session after this time (default: no limit)")
	flags.Duration(f, &o.ReadyWithin, "ready-timeout", 0, "how long to wait for the agent to be ready (default: from the agent)")
	f.BoolVar(&o.Remove, "rm", false, "wait, then remove the session")
	f.BoolVar(&o.wait, "wait", false, "wait for the end of the turn and print the agent's answer")
	f.StringVar(&o.until, "for", "", "what --wait and --rm wait for: turn or exit (default turn)")
	f.StringVar(&o.Conversation, "resume", "", "resume the agent's conversation with this `id`")
	_ = c.MarkFlagRequired("agent") // fails only for a flag that does not exist
	_ = c.MarkFlagDirname("work-dir")
	completeFlag(c, "agent", completeAgents(a))
	completeFlag(c, "role", completeRoles(a))
	completeFlag(c, "for", words(run.Until...))
	return c
}

func runRun(ctx context.Context, a *app, o runOptions) error {
	p, s, err := a.Optional()
	if err != nil {
		return err
	}
	o.WorkDir = a.Absolute(o.dir)
	if o.Prompt, err = promptOf(a, o.prompt); err != nil {
		return err
	}
	x, err := run.Compose(p, s, o.Asked)
	if err != nil {
		return err
	}
	if x.Warning != "" {
		fmt.Fprintf(a.Err, "Warning: %s\n", x.Warning)
	}
	if x.Shares != "" {
		a.Say(fmt.Sprintf("Warning: %s works in %s too; --branch gives the new session a worktree of its own.", x.Shares, x.Spec.Workspace.Path))
	}
	t, err := newReporter(a, "Run")
	if err != nil {
		return err
	}
	if o.wait || o.Remove {
		w := runWaiter{app: a, reporter: t, session: x, rm: o.Remove, start: time.Now()}
		return w.run(ctx, o.until)
	}
	if err := startOne(ctx, a, t, x); err != nil {
		return err
	}
	if !a.JSON {
		name := target.Quoted(x.Spec.Address)
		a.Say(fmt.Sprintf("\n%s works in %s.", x.Spec.Address, x.Spec.Workspace.Path))
		a.Say("Attach: agentform attach " + name)
		a.Say("Remove: agentform destroy --target " + name)
	}
	return nil
}
