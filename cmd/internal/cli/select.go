package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/choose"
	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/flags"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// sessionArgs are the sessions that arguments and flags choose.
type sessionArgs struct{ choose.Sessions }

// named returns the arguments that name sessions.
func named(typed []string) sessionArgs { return sessionArgs{choose.Sessions{Typed: typed}} }

// filterFlags adds --role and --label. what names the sessions in their help.
func filterFlags(a *app, c *cobra.Command, s *choose.Filter, what string) {
	c.Flags().StringVar(&s.Role, "role", "", what+" of this `role`")
	flags.Labels(c.Flags(), &s.Labels, what+" with this label, `key=value` (repeat to require several)")
	completeFlag(c, "role", completeRoles(a))
	completeFlag(c, "label", completeLabels(a))
}

// register adds --all, --role and --label. what names the sessions in their help.
func (s *sessionArgs) register(a *app, c *cobra.Command, what string) {
	c.Flags().BoolVar(&s.All, "all", false, "all "+what)
	filterFlags(a, c, &s.Filter, "the "+what)
	if c.Args == nil {
		c.Args = cobra.ArbitraryArgs // set checks them
	}
	if c.ValidArgsFunction == nil {
		c.ValidArgsFunction = s.complete(a)
	}
}

// complete completes addresses, if no flag chooses the sessions.
func (s *sessionArgs) complete(a *app) completion {
	return func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if s.ByFlag() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeAddresses(a, unlimited)(c, args, typed)
	}
}

// set takes what was typed as addresses.
func (s *sessionArgs) set(c *cobra.Command, typed []string) error {
	s.Typed = typed
	switch {
	case s.ByFlag() && len(typed) > 0:
		return exit.Usage(c.CommandPath(), errors.New("give addresses, or --all, --role or --label: not both"))
	case !s.ByFlag() && len(typed) == 0:
		return exit.Usage(c.CommandPath(), errors.New("give an address, or --all, --role or --label"))
	}
	return nil
}

// open opens the project and its state, and returns the sessions that are meant.
func (s *sessionArgs) open(a *app) (*project.Project, state.State, []session.Address, error) {
	p, st, err := a.State()
	if err != nil {
		return nil, st, nil, err
	}
	named, err := s.Recorded(p.Manifest.Sessions, st.Sessions)
	return p, st, named, err
}
