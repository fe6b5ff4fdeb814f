// Package choose finds the sessions that a command line names.
package choose

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agext/levenshtein"

	"github.com/agentform/agentform/session"
)

// unquoted matches an address whose key has lost its quotes in the shell: worker[web].
var unquoted = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:session\.)?([\pL_][\pL\pN_-]*)\[(.+)\]$`)
})

// Resolve returns a session or every instance of a block. It accepts a key without quotes.
func Resolve(known []session.Address, typed string) ([]session.Address, error) {
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
		return nil, fmt.Errorf("no session %q: there are no sessions\nagentform apply creates those of the manifest", a.Short())
	}
	if near := nearest(known, a); len(near) > 0 {
		return nil, fmt.Errorf("no session %q. Did you mean one of these?\n%s", a.Short(), List(near))
	}
	return nil, fmt.Errorf("no session %q. Sessions:\n%s", a.Short(), List(known))
}

// One returns the one session that is named.
func One(known []session.Address, typed string) (session.Address, error) {
	found, err := Resolve(known, typed)
	if err != nil {
		return "", err
	}
	if len(found) > 1 {
		return "", fmt.Errorf("%s matches %d sessions; choose one:\n%s", typed, len(found), List(found))
	}
	return found[0], nil
}

// All returns each session once, and an error with all invalid addresses.
func All(known []session.Address, typed []string) ([]session.Address, error) {
	var all []session.Address
	var errs []error
	for _, t := range typed {
		found, err := Resolve(known, t)
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
	farthest := min(3, 1+len(word(a))/4) // edits; more means another word
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

// List lists addresses, a line each, at most ten.
func List(addresses []session.Address) string {
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

// New parses the address of a new session. It accepts a key without quotes.
func New(typed string) (session.Address, error) {
	address, err := session.ParseAddress(typed)
	if m := unquoted().FindStringSubmatch(typed); err != nil && m != nil {
		return session.Keyed(m[1], m[2]), nil
	}
	return address, err
}

// Addresses returns the addresses of declared and of recorded sessions, each once, sorted.
func Addresses(specs []session.Spec, records []session.Record) []session.Address {
	var all []session.Address
	for _, s := range specs {
		all = append(all, s.Address)
	}
	for _, r := range records {
		all = append(all, r.Address)
	}
	slices.SortFunc(all, session.Address.Compare)
	return slices.Compact(all)
}
