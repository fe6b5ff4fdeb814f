// Package cli is agentform's command line. Each command is one file: flags, options, and a
// function that runs it. The packages below decide and act; package view prints.
package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/help"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/internal/shim/program"
)

func newRoot(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "agentform",
		Short: "agentform runs coding-agent sessions from a manifest, in tmux and containers",
		Long: `agentform runs coding-agent sessions from a manifest: which agent, on which branch, in
which worktree, with which prompt. plan shows what differs from the manifest; apply
makes the changes.`,
		Example: `  agentform init
  agentform plan
  agentform apply
  agentform status
  agentform attach api`,
		Args:              subcommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		TraverseChildren:  true, // -f before a command is --file, behind logs and events it is --follow
		PersistentPreRunE: a.setup,
		RunE:              func(c *cobra.Command, _ []string) error { return runRoot(a, c) },
	}
	c.SetFlagErrorFunc(flags.Error)
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { printHelp(a, help.Text(c, helpWidth(a))) })
	globalFlags(a, c)
	c.AddGroup(
		&cobra.Group{ID: "main", Title: "Main commands:"},
		&cobra.Group{ID: "session", Title: "Session commands:"},
		&cobra.Group{ID: "project", Title: "Other commands:"},
	)
	c.SetHelpCommandGroupID("project")
	c.SetCompletionCommandGroupID("project")
	add := func(group string, commands ...*cobra.Command) {
		for _, sub := range commands {
			sub.GroupID = group
			c.AddCommand(sub)
		}
	}
	add("main", initCommand(a), validateCommand(a), fmtCommand(a), planCommand(a), driftCommand(a), graphCommand(a), applyCommand(a),
		destroyCommand(a), statusCommand(a), reportCommand(a), servicesCommand(a), watchCommand(a), uiCommand(a), showCommand(a))
	add("session", attachCommand(a), sendCommand(a), answerCommand(a), captureCommand(a), outputCommand(a), logsCommand(a), eventsCommand(a), waitCommand(a), nextCommand(a),
		runCommand(a), adoptCommand(a), usageCommand(a), fetchCommand(a), landCommand(a), refreshCommand(a), verifyCommand(a), diffCommand(a), pathCommand(a), execCommand(a))
	add("session", overrideCommands(a)...)
	add("project", serveCommand(a), openCommand(a), pruneCommand(a), stateCommand(a), forceUnlockCommand(a), doctorCommand(a), runtimeCommand(a), schemaCommand(a), explainCommand(a), optionsCommand(a), versionCommand(a))
	c.AddCommand(shimCommand(a), help.Lifecycle())
	for name, run := range project.Elsewhere {
		c.AddCommand(elsewhereCommand(name, run))
	}
	helpCommand(a, c)
	help.Completion(c, subcommand)
	setArguments(a, c)
	return c
}

func globalFlags(a *app, c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVarP(&a.chdir, "chdir", "C", "", "change to this `directory` first")
	f.StringArrayVarP(&a.Files, "file", "f", nil, fileUsage)
	flags.Vars(f, &a.Vars)
	f.StringVar(&a.StateFile, "state", "", "state `file` (default: DATA_DIR/state.json)")
	f.BoolVar(&a.NoColor, "no-color", false, "disable colors (also: NO_COLOR)")
	f.BoolVar(&a.NoPager, "no-pager", false, "do not use a pager for long output")
	f.StringVar(&a.LogLevel, "log-level", "warn", "log `level` for standard error: debug, info, warn, error")
	f.IntVar(&a.Parallelism, "parallelism", 0, "`number` of concurrent operations (default: from the manifest, 10)")
	flags.Duration(f, &a.LockTimeout, "lock-timeout", 10*time.Second, "how long to wait for the state lock")
	f.BoolVar(&a.JSON, "json", false, "print JSON")
	for _, flag := range []string{"file", "var-file", "state"} {
		_ = c.MarkPersistentFlagFilename(flag) // fails only for a flag that does not exist
	}
	_ = c.MarkPersistentFlagDirname("chdir")
	_ = c.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if near := help.Suggestions(c, args[0]); len(near) > 0 {
		err = fmt.Errorf("%w. Did you mean %s?", err, strings.Join(near, ", "))
	}
	return exit.Usage(c.CommandPath(), err)
}

const fileUsage = "manifest file or directory, a `path` (repeatable)"

// fileWithoutShorthand frees -f for --follow.
func fileWithoutShorthand(a *app, c *cobra.Command) {
	c.Flags().StringArrayVar(&a.Files, "file", nil, fileUsage)
	_ = c.MarkFlagFilename("file") // fails only for a flag that does not exist
}

// Commands returns the tree of commands for the reference and the man pages.
func Commands() *cobra.Command {
	return newRoot(newApp(Env{}))
}

// shimCommand runs the shim where the program agentform-shim is not installed.
func shimCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "shim RUNDIR | notify RUNDIR [JSON]",
		Short: "Run as the parent process of one agent",
		Long: `Runs as the parent process of the agent with this run directory, or, with notify, records
what one of its hooks reports. Started by agentform and agents, not by users.`,
		Hidden:             true,
		Args:               flags.Arguments(1, 3),
		DisableFlagParsing: true, // what a hook says is no flag
		RunE: func(_ *cobra.Command, args []string) error {
			if code := program.Main(args); code != 0 {
				return exit.Code(code)
			}
			return nil
		},
	}
}
