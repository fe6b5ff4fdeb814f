package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// selector chooses sessions by --role and --label.
type selector struct {
	role   string
	labels map[string]string
}

// register adds --role and --label. what names the sessions in their help.
func (s *selector) register(a *app, c *cobra.Command, what string) {
	c.Flags().StringVar(&s.role, "role", "", what+" of this `role`")
	labelFlag(c.Flags(), &s.labels, what+" with this label, `key=value` (repeat to require several)")
	completeFlag(c, "role", completeRoles(a))
	completeFlag(c, "label", completeLabels(a))
}

func (s *selector) given() bool { return s.role != "" || len(s.labels) > 0 }

func (s *selector) fits(spec session.Spec) bool {
	if s.role != "" && spec.Role != s.role {
		return false
	}
	for key, value := range s.labels {
		if v, there := spec.Labels[key]; !there || v != value {
			return false
		}
	}
	return true
}

// match fails if nothing matches: a typing error must not mean all.
func (s *selector) match(specs []session.Spec, records []session.Record) ([]session.Address, error) {
	found := addresses(
		slices.DeleteFunc(slices.Clone(specs), func(spec session.Spec) bool { return !s.fits(spec) }),
		slices.DeleteFunc(slices.Clone(records), func(r session.Record) bool { return !s.fits(r.Spec) }))
	if len(found) > 0 {
		return found, nil
	}
	where := "in the manifest or the state"
	if specs == nil {
		where = "in the state"
	}
	all := slices.Clone(specs)
	for _, r := range records {
		all = append(all, r.Spec)
	}
	return nil, fmt.Errorf("no session %s has %s\n%s", where, s, s.choices(all))
}

// choices lists the values that the given flags could have.
func (s *selector) choices(specs []session.Spec) string {
	if len(specs) == 0 {
		return "There are no sessions: agentform apply creates those of the manifest"
	}
	var lines []string
	list := func(title string, values []string) {
		slices.Sort(values)
		lines = append(lines, title+": "+strings.Join(slices.Compact(values), ", "))
	}
	if s.role != "" {
		list("Roles", rolesOf(specs))
	}
	switch labels := labelsOf(specs); {
	case len(s.labels) > 0 && len(labels) == 0:
		lines = append(lines, "No session has labels")
	case len(s.labels) > 0:
		list("Labels", labels)
	}
	return strings.Join(lines, "\n")
}

func rolesOf(specs []session.Spec) (roles []string) {
	for _, s := range specs {
		roles = append(roles, s.Role)
	}
	return roles
}

func labelsOf(specs []session.Spec) (labels []string) {
	for _, s := range specs {
		for key, value := range s.Labels {
			labels = append(labels, key+"="+value)
		}
	}
	return labels
}

func (s *selector) String() string {
	var parts []string
	if s.role != "" {
		parts = append(parts, "--role "+s.role)
	}
	for _, key := range slices.Sorted(maps.Keys(s.labels)) {
		parts = append(parts, "--label "+key+"="+s.labels[key])
	}
	return strings.Join(parts, " ")
}

// sessionArgs are the sessions of a command: addresses, or --all, --role and --label.
type sessionArgs struct {
	typed []string
	all   bool
	selector
}

// register adds --all, --role and --label. what names the sessions in their help.
func (s *sessionArgs) register(a *app, c *cobra.Command, what string) {
	c.Flags().BoolVar(&s.all, "all", false, "all "+what)
	s.selector.register(a, c, "the "+what)
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
		if s.byFlag() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeAddresses(a, unlimited)(c, args, typed)
	}
}

// byFlag reports whether flags choose the sessions.
func (s *sessionArgs) byFlag() bool { return s.all || s.given() }

// set takes what was typed as addresses.
func (s *sessionArgs) set(c *cobra.Command, typed []string) error {
	s.typed = typed
	switch {
	case s.byFlag() && len(typed) > 0:
		return usageError{c.CommandPath(), errors.New("give addresses, or --all, --role or --label: not both")}
	case !s.byFlag() && len(typed) == 0:
		return usageError{c.CommandPath(), errors.New("give an address, or --all, --role or --label")}
	}
	return nil
}

// open opens the project and its state, and returns the sessions that are meant.
func (s *sessionArgs) open(a *app) (*project.Project, state.State, []session.Address, error) {
	p, st, err := a.openState()
	if err != nil {
		return nil, st, nil, err
	}
	named, err := s.recorded(p.Manifest.Sessions, st.Sessions)
	return p, st, named, err
}

// single reports whether one session is named by its address.
func (s *sessionArgs) single(found []session.Address) bool {
	return !s.byFlag() && len(s.typed) == 1 && len(found) == 1
}

// recorded returns the sessions that are meant, all of them in the state. A block means
// those of its instances that have been applied.
func (s *sessionArgs) recorded(specs []session.Spec, records []session.Record) ([]session.Address, error) {
	switch {
	case s.given():
		return s.match(nil, records)
	case s.all:
		return addresses(nil, records), nil
	}
	var all []session.Address
	var errs []error
	known := addresses(specs, records)
	for _, typed := range s.typed {
		found, err := resolve(known, typed)
		errs = append(errs, err)
		applied := slices.DeleteFunc(slices.Clone(found), func(a session.Address) bool { return project.Find(records, a) == nil })
		if len(applied) == 0 {
			for _, a := range found {
				errs = append(errs, target.NotApplied(a))
			}
		}
		for _, a := range applied {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all, errors.Join(errs...)
}
