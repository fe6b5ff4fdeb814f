package cli

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// completion completes a command's arguments or a flag's value.
type completion = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// completeAddresses completes the addresses of sessions, as they are on record
// and in the manifest now: as many as most, 0 for any number.
func (a *app) completeAddresses(most int) completion {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most || a.before(c, nil) != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		p := a.open()
		s, _ := state.Read(p.state) // unreadable: the manifest's addresses are left
		var found []string
		for _, address := range addresses(p.manifest.Sessions, s.Sessions) {
			if named(args, address) {
				continue
			}
			for _, form := range forms(address) {
				if strings.HasPrefix(form, typed) {
					found = append(found, cobra.CompletionWithDesc(form, describe(find(s.Sessions, address))))
					break
				}
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// forms are the ways in which an address can be typed, the shortest first:
// worker[web] without the quotes, which bash would not complete past.
func forms(a session.Address) []string {
	short := strings.TrimPrefix(string(a), "session.")
	all := []string{short, string(a)}
	if key, ok := a.Key(); ok && wordy.MatchString(key) {
		all = append([]string{a.Block() + "[" + key + "]"}, all...)
	}
	return all
}

// wordy is a key that means the same to shells without its quotes, and is no
// index.
var wordy = regexp.MustCompile(`^[\w./-]*[A-Za-z_][\w./-]*$`)

// named reports whether a session stands on the command line already.
func named(args []string, a session.Address) bool {
	return slices.ContainsFunc(forms(a), func(form string) bool { return slices.Contains(args, form) })
}

// describe is what a completion says of a session besides its address.
func describe(r *session.Record) string {
	if r == nil {
		return "not on record"
	}
	return strings.Join([]string{r.Spec.Agent.Name, r.Tree.Branch}, " ")
}

// words completes a fixed list.
func words(list ...string) completion {
	return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
}

// completeFlag sets how a flag's value is completed.
func completeFlag(c *cobra.Command, flag string, by completion) {
	_ = c.RegisterFlagCompletionFunc(flag, by) // fails only for a flag that does not exist
}
