package cli

import "github.com/spf13/cobra"

// Commands is the whole tree of commands, for what describes them: the reference
// and the man pages. It is not to be run.
func Commands() *cobra.Command {
	c := newRoot(&app{})
	c.InitDefaultHelpCmd()
	c.InitDefaultCompletionCmd()
	return c
}
