package cli

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/help"
	"github.com/agentform/agentform/cmd/internal/projectdir"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/config"
)

func helpWidth(a *app) int { return help.Width(a.OutStyle().Width) }

func printHelp(a *app, text string) {
	_ = a.Paged(func() error { // as fmt.Fprint: nothing else could tell
		_, err := io.WriteString(a.Out, text)
		return err
	})
}

// runRoot names ui to a person in a project.
func runRoot(a *app, c *cobra.Command) error {
	text := help.Text(c, helpWidth(a))
	entries, _ := os.ReadDir(projectdir.Find(a.Dir).Dir) // unreadable: nothing to watch
	manifest := func(e os.DirEntry) bool { return config.IsManifest(e.Name()) }
	if streams.IsTerminal(a.In) && streams.IsTerminal(a.Out) && slices.ContainsFunc(entries, manifest) {
		text += "To watch and control the sessions of this project: agentform ui\n"
	}
	printHelp(a, text)
	return nil
}

func optionsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "options",
		Short:   "List the flags that all commands have",
		Example: "  agentform options",
		Run:     func(c *cobra.Command, _ []string) { printHelp(a, help.Options(c.Root(), helpWidth(a))) },
	}
}

// helpCommand changes cobra's command help, which completes the names of commands.
func helpCommand(a *app, root *cobra.Command) {
	root.InitDefaultHelpCmd()
	c, _, err := root.Find([]string{"help"})
	if err != nil {
		return // cobra has no such command any more
	}
	all := false
	c.Use, c.Short = "help [COMMAND]...", "Show the help of a command"
	c.Long = "Shows the help of a command, or what agentform is and its commands."
	c.Example = `  agentform help
  agentform help --all
  agentform help state mv
  agentform help lifecycle`
	c.Flags().BoolVar(&all, "all", false, "list all commands and topics, with descriptions")
	c.Run = nil
	c.RunE = func(c *cobra.Command, args []string) error {
		topic, rest, err := c.Root().Find(args)
		switch {
		case err != nil:
			return exit.Usage(c.CommandPath(), err)
		case len(rest) > 0:
			return subcommand(topic, rest)
		case all && topic == c.Root():
			printHelp(a, help.All(topic, helpWidth(a)))
			return nil
		}
		return topic.Help()
	}
}
