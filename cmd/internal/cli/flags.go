package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError returns the usage error of a flag that cannot be parsed. It names the flag
// of the command that an unknown one comes near to.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		typed := unknown.GetSpecifiedName()
		if all := unknown.GetSpecifiedShortnames(); all != "" {
			typed, _, _ = strings.Cut(all, "=") // -colour is parsed as the shorthands c, o, l, …
		}
		if near := nearestFlag(c, typed); near != "" {
			err = fmt.Errorf("%w. Did you mean --%s?", err, near)
		}
	}
	return usageError{command: c.CommandPath(), err: err}
}

// nearestFlag returns the name of the command's flag that is the fewest edits away from
// typed; empty: none is near.
func nearestFlag(c *cobra.Command, typed string) string {
	if len(typed) < 3 {
		return ""
	}
	best, least := "", 1+len(typed)/4 // edits; with more it is another word
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := levenshtein.Distance(f.Name, strings.ToLower(typed), nil); !f.Hidden && d <= least && (best == "" || d < least) {
			best, least = f.Name, d
		}
	})
	return best
}

// doubleDashed returns a command line with flags as Terraform writes them, with one
// dash, in the form that Cobra parses: -auto-approve becomes --auto-approve. Only whole
// names count, so that -fx stays --file x; the value of a flag stays as it is.
func doubleDashed(root *cobra.Command, args []string) []string {
	known := map[string]bool{} // --name and -n, of all commands; true: one of them takes a value
	var collect func(c *cobra.Command)
	collect = func(c *cobra.Command) {
		add := func(f *pflag.Flag) {
			known["--"+f.Name] = known["--"+f.Name] || f.NoOptDefVal == ""
			if f.Shorthand != "" {
				known["-"+f.Shorthand] = known["-"+f.Shorthand] || f.NoOptDefVal == ""
			}
		}
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			collect(sub)
		}
	}
	collect(root)
	all := slices.Clone(args)
	for i, word := range all {
		if word == "--" {
			break
		}
		if len(word) < 3 || word[0] != '-' || word[1] == '-' {
			continue
		}
		if i > 0 && known[all[i-1]] {
			continue
		}
		name, _, _ := strings.Cut(word, "=")
		if _, ok := known["-"+name]; ok {
			all[i] = "-" + word
		}
	}
	return all
}
