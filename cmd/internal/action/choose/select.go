package choose

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentform/agentform/cmd/internal/action/target"
	"github.com/agentform/agentform/cmd/internal/project"
	"github.com/agentform/agentform/session"
)

// Filter selects sessions by --role and --label.
type Filter struct {
	Role   string
	Labels map[string]string
}

// Given reports whether a flag is set.
func (s *Filter) Given() bool { return s.Role != "" || len(s.Labels) > 0 }

func (s *Filter) fits(spec session.Spec) bool {
	if s.Role != "" && spec.Role != s.Role {
		return false
	}
	for key, value := range s.Labels {
		if v, there := spec.Labels[key]; !there || v != value {
			return false
		}
	}
	return true
}

// Match returns the matching sessions. It fails if there are none: a typing error must not select
// all.
func (s *Filter) Match(specs []session.Spec, records []session.Record) ([]session.Address, error) {
	found := Addresses(
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
func (s *Filter) choices(specs []session.Spec) string {
	if len(specs) == 0 {
		return "There are no sessions: agentform apply creates those of the manifest"
	}
	var lines []string
	list := func(title string, values []string) {
		slices.Sort(values)
		lines = append(lines, title+": "+strings.Join(slices.Compact(values), ", "))
	}
	if s.Role != "" {
		list("Roles", Roles(specs))
	}
	switch labels := Labels(specs); {
	case len(s.Labels) > 0 && len(labels) == 0:
		lines = append(lines, "No session has labels")
	case len(s.Labels) > 0:
		list("Labels", labels)
	}
	return strings.Join(lines, "\n")
}

// Roles returns the roles of sessions.
func Roles(specs []session.Spec) (roles []string) {
	for _, s := range specs {
		roles = append(roles, s.Role)
	}
	return roles
}

// Labels returns the labels of sessions, as key=value.
func Labels(specs []session.Spec) (labels []string) {
	for _, s := range specs {
		for key, value := range s.Labels {
			labels = append(labels, key+"="+value)
		}
	}
	return labels
}

func (s *Filter) String() string {
	var parts []string
	if s.Role != "" {
		parts = append(parts, "--role "+s.Role)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		parts = append(parts, "--label "+key+"="+s.Labels[key])
	}
	return strings.Join(parts, " ")
}

// Sessions are the sessions of a command: addresses, or --all, --role and --label.
type Sessions struct {
	Typed []string
	All   bool
	Filter
}

// ByFlag reports whether flags choose the sessions.
func (s *Sessions) ByFlag() bool { return s.All || s.Given() }

// Single reports whether one session is named by its address.
func (s *Sessions) Single(found []session.Address) bool {
	return !s.ByFlag() && len(s.Typed) == 1 && len(found) == 1
}

// Recorded returns the selected sessions, all of them in the state. A block selects its applied
// instances.
func (s *Sessions) Recorded(specs []session.Spec, records []session.Record) ([]session.Address, error) {
	switch {
	case s.Given():
		return s.Match(nil, records)
	case s.All:
		return Addresses(nil, records), nil
	}
	var all []session.Address
	var errs []error
	known := Addresses(specs, records)
	for _, typed := range s.Typed {
		found, err := Resolve(known, typed)
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
