package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/action/connect"
	"github.com/agentform/agentform/cmd/internal/action/scaffold"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/plaintext"
)

func initCommand(a *app) *cobra.Command {
	var o initOptions
	var b connect.Options
	fromTmux := false
	c := &cobra.Command{
		Use:   "init",
		Short: "Create a starter manifest, or connect the manifest's backend",
		Long: `Writes ` + scaffold.ManifestFile + ` for this repository and the agents that are installed, and adds the
data directory to .gitignore. An existing manifest is never overwritten.

At a terminal it asks which agent to use, whether to trust the folder, and whether apply
starts the hub. Flags answer a question beforehand; --yes takes the defaults. Without a
terminal it never asks. Nothing is written before the last answer.

With a manifest that has a backend block it connects the project with that: it reads what is
there, or moves the state when the block has changed (--migrate-state, --reconfigure).

With --from-tmux the manifest declares the sessions of your own tmux servers in which an
agent runs, as agentform adopt lists them, each with an import block. Nothing is adopted
before apply, which leaves what runs as it is.`,
		Example: `  agentform init
  agentform init --from-tmux
  agentform init --yes
  agentform init --agent codex --trust
  agentform init --migrate-state`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.given = func(flag string) bool { return c.Flags().Changed(flag) }
			if !slices.Contains(append(agent.Names(), ""), o.Agent) {
				return exit.Usage(c.CommandPath(), fmt.Errorf("--agent %s: must be %s", o.Agent, plaintext.List(agent.Names(), "or")))
			}
			if done, err := initBackend(c.Context(), a, b); done || err != nil {
				return err
			}
			if b.Set() {
				return exit.Usage(c.CommandPath(), errors.New("there is no manifest with a backend block here"))
			}
			if !fromTmux {
				return runInit(c.Context(), a, o)
			}
			if slices.ContainsFunc([]string{"agent", "trust", "hub"}, o.given) {
				return exit.Usage(c.CommandPath(), errors.New("--from-tmux declares agents as they run: leave out --agent, --trust and --hub"))
			}
			return runInitFromTmux(c.Context(), a)
		},
	}
	flags := c.Flags()
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask: take the defaults")
	flags.StringVar(&o.Agent, "agent", "", "the `agent` of the first session (default: the first that is installed)")
	flags.BoolVar(&o.Trust, "trust", false, "trust the folder: the agent starts without asking whether it may")
	flags.BoolVar(&o.Hub, "hub", false, "apply starts the hub, which restarts agents that exit")
	flags.BoolVar(&fromTmux, "from-tmux", false, "declare the agents that run in your tmux servers")
	backendFlags(c, &b)
	completeFlag(c, "agent", words(agent.Names()...))
	return c
}

type initOptions struct {
	scaffold.First
	yes   bool
	given func(flag string) bool
}

func runInit(ctx context.Context, a *app, o initOptions) error {
	r, err := scaffold.Find(ctx, a.Environ, a.Dir)
	if err != nil {
		return err
	}
	first, err := askFirst(a, o, r.Installed)
	if err != nil {
		return err
	}
	x, err := r.Write(ctx, first)
	if err != nil {
		return err
	}
	return view.WriteInitialized(a.Out, a.OutStyle(), x)
}

// askFirst asks at a terminal what the flags leave open. It returns the answers, or the
// defaults.
func askFirst(a *app, o initOptions, installed []string) (scaffold.First, error) {
	f := o.First
	asks := !o.yes && streams.IsTerminal(a.In) && streams.IsTerminal(a.Err)
	choices := slices.Concat(installed, agent.Names())
	if f.Agent == "" {
		f.Agent = choices[0]
		if asks && len(installed) > 1 {
			answer, err := a.Choose("Which agent should do the work?", installed)
			if err != nil {
				return f, cancelled(a, err)
			}
			f.Agent = answer
		}
	}
	var err error
	if asks && !o.given("trust") {
		f.Trust, err = a.YesOrNo(fmt.Sprintf(`Trust this repository?
  yes: %s starts at once, and loads the repository's own settings,
       whose hooks and servers can run commands as you.
  no:  it asks you once, when it starts in a new directory.`, f.Agent))
	}
	if err == nil && asks && !o.given("hub") {
		f.Hub, err = a.YesOrNo(`Start the hub with apply?
  yes: a process in the background restarts agents that exit, and notifies.
  no:  agents run without it; agentform serve starts it later.`)
	}
	return f, cancelled(a, err)
}

// cancelled says that the questions were not answered.
func cancelled(a *app, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("init was cancelled: nothing was written")
	case errors.Is(err, exit.Interrupted):
		fmt.Fprintln(a.Err, "Cancelled: nothing was written.")
	}
	return err
}
