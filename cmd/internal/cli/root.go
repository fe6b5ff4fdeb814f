package cli

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/projectdir"
)

// app is one run of agentform: where it runs, the global flags, and what has
// been opened so far, which happens only when a command asks for it.
type app struct {
	env      Env    // Dir is as --chdir says, and that of the project once it is open
	typedIn  string // the directory that relative paths on the command line count from
	found    projectdir.Found
	stands   string // the folder that the person stands in, without links; --chdir leaves it
	globals  globals
	log      *slog.Logger
	command  string   // "agentform apply"
	opened   *project // see open
	document bool     // what is wrong with the manifest goes into the command's document, not to standard error
	closers  []func() // see close
	scoped   []string // see scope; of the hub alone
}

// globals are the flags that every command takes.
type globals struct {
	chdir       string
	files       []string
	vars        []config.Var
	stateFile   string
	noColor     bool
	logLevel    string
	parallelism int
	lockTimeout time.Duration
	json        bool
}

// jsonKey marks, in a command's annotations, that it has JSON to give.
const jsonKey = "json"

// withJSON are the annotations of a command that honours --json.
func withJSON() map[string]string { return map[string]string{jsonKey: "yes"} }

// The groups of commands in the help.
const (
	groupMain    = "main"
	groupSession = "session"
	groupProject = "project"
)

// root is the whole tree of commands.
func (a *app) root() *cobra.Command {
	c := &cobra.Command{
		Use:   "agentform",
		Short: "Terraform for coding-agent sessions",
		Long: `Agentform keeps coding-agent sessions as a manifest declares them: which agent,
on which branch, in which workspace, with which prompt. It plans the difference
between what is wanted and what is live, and applies it.`,
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
		PersistentPreRunE: a.before,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.SetFlagErrorFunc(flagError)
	a.globalFlags(c)
	c.AddGroup(
		&cobra.Group{ID: groupMain, Title: "From a manifest to live sessions:"},
		&cobra.Group{ID: groupSession, Title: "With one session:"},
		&cobra.Group{ID: groupProject, Title: "Besides:"},
	)
	c.SetHelpCommandGroupID(groupProject)
	c.SetCompletionCommandGroupID(groupProject)
	add := func(group string, commands ...*cobra.Command) {
		for _, sub := range commands {
			sub.GroupID = group
			c.AddCommand(sub)
		}
	}
	add(groupMain, a.initCommand(), a.validateCommand(), a.fmtCommand(), a.planCommand(), a.driftCommand(), a.graphCommand(), a.applyCommand(),
		a.destroyCommand(), a.statusCommand(), a.servicesCommand(), a.watchCommand(), a.showCommand())
	add(groupSession, a.attachCommand(), a.sendCommand(), a.captureCommand(), a.outputCommand(), a.logsCommand(), a.eventsCommand(), a.waitCommand(), a.nextCommand(),
		a.startCommand(), a.stopCommand(), a.restartCommand(), a.pauseCommand(), a.resumeCommand(), a.resumeAllCommand(), a.runCommand(), a.adoptCommand(), a.fetchCommand())
	add(groupProject, a.serveCommand(), a.pruneCommand(), a.stateCommand(), a.doctorCommand(), a.schemaCommand(), a.versionCommand())
	c.AddCommand(a.guestCommand(), lifecycleTopic())
	return c
}

func (a *app) globalFlags(c *cobra.Command) {
	g, f := &a.globals, c.PersistentFlags()
	f.StringVarP(&g.chdir, "chdir", "C", "", "work in this `folder`")
	f.StringArrayVarP(&g.files, "file", "f", nil, fileUsage)
	f.Var(&varFlag{into: &g.vars}, "var", "value of a variable, `name=value` (repeatable)")
	f.Var(&varFlag{into: &g.vars, file: true}, "var-file", "read the values of variables from this `file` (repeatable)")
	f.StringVar(&g.stateFile, "state", "", "the state `file` (default DATA_DIR/state.json)")
	f.BoolVar(&g.noColor, "no-color", false, "no colours (also with NO_COLOR in the environment)")
	f.StringVar(&g.logLevel, "log-level", "warn", "how much to tell on standard error: debug, info, warn, error")
	f.IntVar(&g.parallelism, "parallelism", 0, "how many sessions to work on at once (default: the manifest's, 10)")
	durationVar(f, &g.lockTimeout, "lock-timeout", 10*time.Second, "how long to wait for the state's lock")
	f.BoolVar(&g.json, "json", false, "print JSON")
	for _, flag := range []string{"file", "var-file", "state"} {
		_ = c.MarkPersistentFlagFilename(flag) // fails only for a flag that does not exist
	}
	_ = c.MarkPersistentFlagDirname("chdir")
	_ = c.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions([]string{"debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp))
}

// subcommand refuses what is no command below c, and says which one may have
// been meant.
func subcommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if near := suggestions(c, args[0]); len(near) > 0 {
		err = fmt.Errorf("%w. Did you mean %s?", err, strings.Join(near, ", "))
	}
	return usageError{c.CommandPath(), err}
}

// otherNames are what other programs call the commands, by the name that they have
// here. docker, kubectl, Terraform and their users' fingers.
var otherNames = map[string][]string{
	"apply":   {"up", "create"},
	"plan":    {"refresh"},
	"destroy": {"down", "rm", "remove", "delete"},
	"stop":    {"end", "interrupt", "cancel"},
	"restart": {"taint", "recreate"},
	"adopt":   {"import"},
	"show":    {"inspect", "describe", "info"},
	"logs":    {"log", "transcript"},
	"send":    {"type", "tell"},
	"attach":  {"connect", "enter"},
	"serve":   {"daemon", "supervise"},
	"doctor":  {"check"},
	"prune":   {"clean", "gc"},
	"watch":   {"top"},
}

// suggestions returns the commands below c that an unknown word can mean: what other
// programs call so, else what is spelled much like it.
func suggestions(c *cobra.Command, typed string) []string {
	if !c.HasParent() {
		for name, others := range otherNames {
			if slices.Contains(others, strings.ToLower(typed)) {
				return []string{name}
			}
		}
	}
	c.SuggestionsMinimumDistance = 1
	if len(typed) >= 6 { // two edits make another word of a shorter one
		c.SuggestionsMinimumDistance = 2
	}
	near := c.SuggestionsFor(typed)
	for _, other := range c.Commands() {
		if other.IsAvailableCommand() && swapped(strings.ToLower(typed), other.Name()) && !slices.Contains(near, other.Name()) {
			near = append(near, other.Name())
		}
	}
	return near
}

// swapped reports whether two words differ by two neighboring letters that are swapped.
func swapped(a, b string) bool {
	for i := 1; i < min(len(a), len(b)); i++ {
		if a[:i-1]+a[i:i+1]+a[i-1:i]+a[i+1:] == b {
			return a != b
		}
	}
	return false
}

const fileUsage = "read the manifest at this `path`, or every one in that folder (repeatable)"

// fileWithoutShorthand gives a command its own --file, so that -f is free in it:
// to follow is what -f means for whatever prints as it comes.
func (a *app) fileWithoutShorthand(c *cobra.Command) {
	c.Flags().StringArrayVar(&a.globals.files, "file", nil, fileUsage)
	_ = c.MarkFlagFilename("file") // fails only for a flag that does not exist
}

// before holds the global flags against each other and applies them.
func (a *app) before(c *cobra.Command, _ []string) error {
	g := &a.globals
	a.command = c.CommandPath()
	var level slog.Level
	if err := level.UnmarshalText([]byte(g.logLevel)); err != nil {
		return usageError{c.CommandPath(), fmt.Errorf("--log-level %q: want debug, info, warn or error", g.logLevel)}
	}
	a.log = slog.New(slog.NewTextHandler(a.env.Stderr, &slog.HandlerOptions{Level: level}))
	if g.parallelism < 1 && c.Flag("parallelism").Changed {
		return usageError{c.CommandPath(), fmt.Errorf("--parallelism %d: want 1 or more", g.parallelism)}
	}
	if g.json && c.Annotations[jsonKey] == "" {
		return usageError{c.CommandPath(), fmt.Errorf("%s has no JSON to give: leave --json out", c.CommandPath())}
	}
	if real, err := filepath.EvalSymlinks(a.env.Dir); err == nil {
		a.stands = real
	}
	if g.chdir != "" {
		dir := a.absolute(g.chdir)
		if info, err := os.Stat(dir); err != nil {
			return fmt.Errorf("--chdir: %w", err)
		} else if !info.IsDir() {
			return fmt.Errorf("--chdir %s: it is no folder", dir)
		}
		a.env.Dir = dir
	}
	a.typedIn = a.env.Dir
	return nil
}

// absolute returns the absolute form of a path from the command line.
func (a *app) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.typedIn, path)
}

// out and err are how standard output and standard error are written for
// people.
func (a *app) out() view.Style { return a.style(a.env.Stdout) }
func (a *app) err() view.Style { return a.style(a.env.Stderr) }

// style is how text for a writer looks. Paths are shown from the folder that
// the person stands in, whatever --chdir says.
func (a *app) style(w io.Writer) view.Style {
	s := view.StyleFor(w, a.globals.noColor, a.env.Environ)
	s.Dir = a.stands
	return s
}
