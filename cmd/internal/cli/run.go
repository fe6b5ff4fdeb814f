package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/engine"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

type runOptions struct {
	asked                 config.Request
	name, prompt, dir     string
	timeout, readyTimeout time.Duration
	wait, rm              bool
	until                 string // of --for; empty: not given
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
			o.asked.Args = afterDash(c, args)
			if len(args) > len(o.asked.Args) {
				o.name = args[0]
			}
			for name, d := range map[string]time.Duration{"timeout": o.timeout, "ready-timeout": o.readyTimeout} {
				if d < 0 || d == 0 && c.Flags().Changed(name) {
					return exit.Usage(c.CommandPath(), fmt.Errorf("--%s %s: must be more than 0", name, d))
				}
			}
			switch {
			case o.until != "" && !slices.Contains(untilWords, o.until):
				return exit.Usage(c.CommandPath(), fmt.Errorf("--for %q: must be turn or exit", o.until))
			case o.until != "" && !o.wait && !o.rm:
				return exit.Usage(c.CommandPath(), errors.New("--for needs --wait or --rm"))
			}
			return runRun(c.Context(), a, o)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.asked.Agent, "agent", "a", "", "the `agent`: a built-in one, or one of the manifest")
	f.StringVarP(&o.prompt, "prompt", "p", "", "the prompt; - reads standard input")
	f.StringVarP(&o.dir, "work-dir", "w", "", "working `directory`, or the repository for --branch (default: .)")
	f.StringVar(&o.asked.Branch, "branch", "", "create a worktree on this `branch`")
	f.StringVar(&o.asked.Profile, "profile", "", "the agent's own `profile`")
	f.StringVar(&o.asked.Role, "role", "", "its `role` (default \"default\")")
	labelFlag(f, &o.asked.Labels, "a label, `key=value` (repeatable)")
	durationVar(f, &o.timeout, "timeout", 0, "stop the session after this time (default: no limit)")
	durationVar(f, &o.readyTimeout, "ready-timeout", 0, "how long to wait for the agent to be ready (default: from the agent)")
	f.BoolVar(&o.rm, "rm", false, "wait, then remove the session")
	f.BoolVar(&o.wait, "wait", false, "wait for the end of the turn and print the agent's answer")
	f.StringVar(&o.until, "for", "", "what --wait and --rm wait for: turn or exit (default turn)")
	f.StringVar(&o.asked.Conversation, "resume", "", "resume the agent's conversation with this `id`")
	_ = c.MarkFlagRequired("agent") // fails only for a flag that does not exist
	_ = c.MarkFlagDirname("work-dir")
	completeFlag(c, "agent", completeAgents(a))
	completeFlag(c, "role", completeRoles(a))
	completeFlag(c, "for", words(untilWords...))
	return c
}

func afterDash(c *cobra.Command, args []string) []string {
	if at := c.ArgsLenAtDash(); at >= 0 {
		return args[at:]
	}
	return nil
}

func runRun(ctx context.Context, a *app, o runOptions) error {
	p, s, err := a.Optional()
	if err != nil {
		return err
	}
	spec, err := compose(a, p, s, o)
	if err != nil {
		return err
	}
	if other := plan.Neighbor(spec, s.Sessions); other != "" {
		a.Say(fmt.Sprintf("Warning: %s works in %s too; --branch gives the new session a worktree of its own.", other, spec.Workspace.Path))
	}
	t, err := newReporter(a, "Run")
	if err != nil {
		return err
	}
	request := engine.Request{Wanted: []session.Spec{spec}}
	if o.wait || o.rm {
		w := runWaiter{app: a, project: p, reporter: t, address: spec.Address, start: time.Now()}
		return w.run(ctx, request, spec, o)
	}
	if err := applySingle(ctx, a, p, t, request, spec.Address, session.FromRun); err != nil {
		return err
	}
	if !a.JSON {
		name := target.Quoted(spec.Address)
		a.Say(fmt.Sprintf("\n%s works in %s.", spec.Address, spec.Workspace.Path))
		a.Say("Attach: agentform attach " + name)
		a.Say("Remove: agentform destroy --target " + name)
	}
	return nil
}

func compose(a *app, p *project.Project, s state.State, o runOptions) (session.Spec, error) {
	if o.name == "" {
		o.name = fmt.Sprintf("task-%08x", rand.Uint32())
	}
	asked := o.asked
	var err error
	if asked.Address, err = choose.New(o.name); err != nil {
		return session.Spec{}, err
	}
	name := target.Quoted(asked.Address)
	switch {
	case p.Declared(asked.Address) != nil:
		return session.Spec{}, fmt.Errorf("%s is declared in the manifest: agentform apply --target %s creates it", asked.Address, name)
	case project.Find(s.Sessions, asked.Address) != nil:
		return session.Spec{}, fmt.Errorf("%s is in the state already: choose another name, restart it (agentform restart %s), or remove it (agentform destroy --target %[2]s)", asked.Address, name)
	}
	if asked.Prompt = o.prompt; o.prompt == "-" {
		text, err := io.ReadAll(a.In)
		if err != nil {
			return session.Spec{}, fmt.Errorf("read the prompt: %w", err)
		}
		if asked.Prompt = string(text); asked.Prompt == "" {
			return session.Spec{}, errors.New("--prompt -: standard input is empty")
		}
	}
	asked.Timeout, asked.ReadyTimeout = session.Duration(o.timeout), session.Duration(o.readyTimeout)
	dir := a.Absolute(o.dir)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return session.Spec{}, fmt.Errorf("--work-dir: no directory %s", dir)
	}
	asked.Dir = git.Look(dir)
	if asked.Dir.Err != nil {
		return session.Spec{}, asked.Dir.Err
	}
	spec, err := p.Manifest.Compose(asked)
	if err == nil && spec.Profile != "" && spec.Agent.Base != agent.Codex {
		fmt.Fprintf(a.Err, "Warning: --profile has no effect: only codex has profiles, and agent %q has none.\n", spec.Agent.Name)
	}
	if o.rm {
		spec.Workspace.OnDestroy = session.RemoveClean
	}
	return spec, err
}
