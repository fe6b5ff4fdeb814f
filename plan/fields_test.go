package plan

import (
	"slices"
	"strings"
	"testing"
)

// TestOrder checks that each word of the order has a field, and that of two words the longer one
// decides: an agent's environment comes before how it gets its prompt.
func TestOrder(t *testing.T) {
	at := map[string]int{}
	for i, f := range fields() {
		at[f.path] = i
	}
	for _, w := range strings.Fields(order) {
		if !slices.ContainsFunc(fields(), func(f field) bool { return strings.HasPrefix(f.path, w) }) {
			t.Errorf("no field starts with %q", w)
		}
	}
	if at["role"] != 0 || at["agent.trust"] > at["agent.env"] || at["agent.env"] > at["agent.prompt_via"] || at["agent.one_shot"] > at["profile"] {
		t.Errorf("the order is %v", at)
	}
}
