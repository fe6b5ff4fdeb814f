package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/session"
)

// selector chooses sessions by what they are instead of by name.
type selector struct {
	role   string
	labels map[string]string
}

// register adds --role and --label; what says what the chosen ones are to the
// command: "the sessions".
func (s *selector) register(a *app, c *cobra.Command, what string) {
	c.Flags().StringVar(&s.role, "role", "", what+" of this `role`")
	c.Flags().Var(&labelFlag{into: &s.labels}, "label", what+" with this label, `key=value` (repeatable: with all of them)")
	completeFlag(c, "role", completeRoles(a))
	completeFlag(c, "label", completeLabels(a))
}

// given reports whether anything is asked for.
func (s *selector) given() bool { return s.role != "" || len(s.labels) > 0 }

// fits reports whether a session is one of those.
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

// choose are the addresses of those that fit, among what is wanted and what is
// on record, in order. None: an error, since a typing error must not mean all.
func (s *selector) choose(specs []session.Spec, records []session.Record) ([]session.Address, error) {
	found := map[session.Address]bool{}
	for _, spec := range specs {
		if s.fits(spec) {
			found[spec.Address] = true
		}
	}
	for _, r := range records {
		if s.fits(r.Spec) {
			found[r.Address] = true
		}
	}
	if len(found) == 0 {
		where := "in the manifest or on record"
		if specs == nil {
			where = "on record"
		}
		return nil, fmt.Errorf("no session %s has %s: nothing was done\nagentform status shows what there is", where, s)
	}
	return slices.SortedFunc(maps.Keys(found), session.Address.Compare), nil
}

// String is the selector as it was typed.
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
