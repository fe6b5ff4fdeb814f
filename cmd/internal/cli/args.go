package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"
)

// many is no limit to the arguments of a command.
const many = math.MaxInt

// arguments refuses fewer or more arguments than a command has use for, and says
// how it is written.
func arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		written := strings.TrimSuffix(c.UseLine(), " [flags]")
		switch {
		case len(args) < least:
			return usageError{c.CommandPath(), fmt.Errorf("something is missing: %s", written)}
		case len(args) > most:
			return usageError{c.CommandPath(), fmt.Errorf("%q is too much: %s", args[most], written)}
		}
		return nil
	}
}

// joined are a command line's words with each negative number joined to the flag
// before it (--parallelism -3). Cobra would take it for a flag, and the command
// after it for that one's value, and refuse what is right.
func joinNegatives(args []string) []string {
	var all []string
	for i, word := range args {
		if word == "--" {
			return append(all, args[i:]...)
		}
		negative := len(word) > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9'
		if last := len(all) - 1; negative && last >= 0 && strings.HasPrefix(all[last], "--") && !strings.Contains(all[last], "=") {
			all[last] += "=" + word
			continue
		}
		all = append(all, word)
	}
	return all
}

// checkHelpArgs lets help and completion refuse what they do not know, as every
// command does.
func checkHelpArgs(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.RunE = func(c *cobra.Command, args []string) error {
				topic, rest, err := c.Root().Find(args)
				if err != nil {
					return usageError{c.CommandPath(), err}
				}
				if len(rest) > 0 {
					return subcommand(topic, rest)
				}
				topic.InitDefaultHelpFlag()
				return topic.Help()
			}
		case "completion":
			c.Args = subcommand
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = arguments(0, 0)
			}
		}
	}
}
