package session

import (
	"slices"
	"testing"
)

func TestCompareAddresses(t *testing.T) {
	want := []Address{
		"session.a", "session.a2", "session.a10", `session.pool[0]`, `session.pool[8]`, `session.pool[10]`,
		`session.w["1a"]`, `session.w["08"]`, `session.w["8"]`, `session.w["10"]`, `session.w["a"]`, `session.w["a2b"]`, `session.w["a10"]`,
		`session.w["b1"]`, "session.z",
	}
	got := slices.Clone(want)
	slices.Sort(got)
	slices.SortFunc(got, Address.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted: %q", got)
	}
}
