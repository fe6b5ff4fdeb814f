package choose

import (
	"regexp"
	"strings"

	"github.com/agentform/agentform/session"
)

// Forms returns the ways to type an address, the shortest first: bash would not complete past the quotes of worker["web"].
func Forms(a session.Address) []string {
	short := a.Short()
	all := []string{short, string(a)}
	if key, ok := a.Key(); ok && plainKey.MatchString(key) {
		all = append([]string{a.Block() + "[" + key + "]"}, all...)
	}
	return all
}

// plainKey is a key that needs no quotes in a shell and is not an index.
var plainKey = regexp.MustCompile(`^[\w./-]*[A-Za-z_][\w./-]*$`)

// Describe describes a session in a word or two; nil: it is not in the state.
func Describe(r *session.Record) string {
	if r == nil {
		return "not in the state"
	}
	return strings.Join([]string{r.Spec.Agent.Name, r.Tree.Branch}, " ")
}
