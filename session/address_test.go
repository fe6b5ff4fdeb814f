package session

import (
	"slices"
	"testing"
)

func TestCompareAddresses(t *testing.T) {
	want := []Address{
		"session.a", `session.pool[0]`, `session.pool[8]`, `session.pool[10]`,
		`session.w["8"]`, `session.w["10"]`, `session.w["1a"]`, `session.w["a"]`, "session.z",
	}
	got := slices.Clone(want)
	slices.Sort(got)
	slices.SortFunc(got, Address.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted: %q", got)
	}
}
