package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/action/connect"
	"github.com/agentform/agentform/cmd/internal/action/scaffold"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/internal/git"
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
	if err := scaffold.CheckNone(a.Dir, "agentform validate checks it"); err != nil {
		return err
	}
	if _, found := a.Environ.Program("git", a.Dir); !found {
		return errors.New("git is not on PATH: sessions work on branches of a repository\nInstall git 2.30 or later (apt-get install git, brew install git)")
	}
	root, err := git.Toplevel(ctx, a.Dir)
	if errors.Is(err, git.ErrNotRepository) {
		return fmt.Errorf("%s is not in a git repository\ncreate one with: git init", a.Dir)
	}
	if err != nil {
		return err
	}
	installed := preflight.Host{Environ: a.Environ, Dir: a.Dir}.Installed()
	first, err := askFirst(a, o, installed)
	if err != nil {
		return err
	}
	first.Base = git.Look(root).Branch
	if err := scaffold.WriteNew(filepath.Join(a.Dir, scaffold.ManifestFile), []byte(first.Text()), 0o644); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	ignored, err := scaffold.Ignore(a.Dir, ".agentform/")
	if err != nil {
		return err
	}
	reportInit(a, installed, first, ignored)
	if has, err := git.HasCommits(ctx, root); err == nil && !has {
		_ = view.Prose(a.Out, a.OutStyle(), "\nThe repository has no commit yet. Create one with: "+preflight.FirstCommit) // as fmt.Fprint
	}
	fmt.Fprintln(a.Out, "\nNext: agentform plan")
	return nil
}

func reportInit(a *app, installed []string, first scaffold.First, ignored bool) {
	out := a.Out
	others := slices.DeleteFunc(slices.Clone(installed), func(name string) bool { return name == first.Agent })
	fmt.Fprintf(out, "Wrote %s: one session of %s, on a branch of its own.\n", scaffold.ManifestFile, first.Agent)
	if ignored {
		fmt.Fprintln(out, "Added .agentform/ to .gitignore: state and worktrees stay out of the repository.")
	}
	switch {
	case len(installed) == 0:
		fmt.Fprintf(out, "\nNone of %s is on PATH: install one, or declare your own agent.\n", plaintext.List(agent.Names(), "and"))
	case len(others) > 0:
		fmt.Fprintf(out, "\nAlso installed: %s.\n", strings.Join(others, ", "))
	}
	if _, found := a.Environ.Program("tmux", a.Dir); !found {
		fmt.Fprintln(out, "\ntmux is not on PATH, and sessions run in it: install tmux 3.2 or later.")
	}
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
