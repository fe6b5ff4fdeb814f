package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Cobra's script for bash holds what was typed against each completion in its
// escaped form, worker\[web\]. What bash itself has typed, the part that several
// completions have in common, is not escaped: worker[. Then nothing would match.
const (
	bashMatch  = `[[ $comp == "$cur"* ]] || continue`
	bashMended = `[[ $comp == "$cur"* || $compline == "$cur"* ]] || continue`
)

// fixBashCompletion lets bash complete the addresses of instances past their bracket. The
// commands of completion write to what is the root's output now.
func fixBashCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		return // cobra has no such command any more: there is nothing to mend
	}
	bash.RunE = func(c *cobra.Command, _ []string) error {
		plain, err := c.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script bytes.Buffer
		if err := root.GenBashCompletionV2(&script, !plain); err != nil {
			return fmt.Errorf("write the completion script: %w", err)
		}
		_, err = fmt.Fprint(c.OutOrStdout(), strings.Replace(script.String(), bashMatch, bashMended, 1))
		return err
	}
}
