package cli

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/session"
)

// unquoted matches an address whose key lost its quotes to the shell: worker[web].
var unquoted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:session\.)?([\pL_][\pL\pN_-]*)\[(.+)\]$`)
})

// resolve returns a session or every instance of a block. It accepts a key without quotes.
func resolve(known []session.Address, typed string) ([]session.Address, error) {
	a, err := session.ParseAddress(typed)
	if m := unquoted().FindStringSubmatch(typed); m != nil {
		if keyed := session.Keyed(m[1], m[2]); err != nil || slices.Contains(known, keyed) && !slices.Contains(known, a) {
			a, err = keyed, nil
		}
	}
	if err != nil {
		return nil, err
	}
	var found []session.Address
	for _, k := range known {
		if k.Within(a) {
			found = append(found, k)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("no session %s: there are no sessions\nagentform apply creates what the manifest declares", a)
	}
	if near := nearest(known, a); len(near) > 0 {
		return nil, fmt.Errorf("no session %s. Did you mean one of these?\n%s", a, listAddresses(near))
	}
	return nil, fmt.Errorf("no session %s. Sessions:\n%s", a, listAddresses(known))
}

func resolveOne(known []session.Address, typed string) (session.Address, error) {
	found, err := resolve(known, typed)
	if err != nil {
		return "", err
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%s matches %d sessions; choose one:\n%s", typed, len(found), listAddresses(found))
	}
	return found[0], nil
}

// resolveAll returns each session once, and reports all faulty addresses.
func resolveAll(known []session.Address, typed []string) ([]session.Address, error) {
	var all []session.Address
	var errs []error
	for _, t := range typed {
		found, err := resolve(known, t)
		if err != nil {
			errs = append(errs, err)
		}
		for _, a := range found {
			if !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all, errors.Join(errs...)
}

func nearest(known []session.Address, a session.Address) []session.Address {
	word := func(a session.Address) string { return strings.ToLower(a.Short()) }
	farthest := min(3, 1+len(word(a))/4) // edits; more is another word
	distances := map[session.Address]int{}
	var near []session.Address
	for _, k := range known {
		d := levenshtein.Distance(word(k), word(a), nil)
		if key, ok := k.Key(); ok {
			d = min(d, levenshtein.Distance(strings.ToLower(key), word(a), nil), levenshtein.Distance(strings.ToLower(k.Block()), strings.ToLower(a.Block()), nil))
		}
		if d <= farthest && d < len(word(a)) {
			distances[k] = d
			near = append(near, k)
		}
	}
	slices.SortStableFunc(near, func(a, b session.Address) int { return distances[a] - distances[b] })
	return near
}

func listAddresses(addresses []session.Address) string {
	const most = 10
	var b strings.Builder
	for i, a := range addresses {
		if i == most {
			fmt.Fprintf(&b, "  and %d more: see agentform status", len(addresses)-most)
			break
		}
		fmt.Fprintf(&b, "  %s\n", a)
	}
	return strings.TrimRight(b.String(), "\n")
}

// quoted returns an address as it is typed into a shell: api, 'worker["web"]'.
func quoted(a session.Address) string { return plaintext.ShellWord(a.Short()) }

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
	return nil, fmt.Errorf("no session %s has %s\nagentform status lists the sessions", where, s)
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
