package apply_test

import (
	"fmt"
	"testing"

	"github.com/agentform/agentform/session"
)

// BenchmarkCreateAndDelete is what apply itself costs, with its state on disk
// and sessions that cost nothing.
func BenchmarkCreateAndDelete(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				r := newFixture(b)
				r.applier.Parallelism, r.applier.Emit = 10, nil
				var specs []session.Spec
				var names []string
				for i := range n {
					s := r.spec(fmt.Sprintf("s%d", i))
					s.Workspace.Mode, s.Branch = session.Plain, ""
					specs, names = append(specs, s), append(names, s.Address.Block())
				}
				r.must(r.create(specs...))
				r.must(r.removal(names...))
			}
		})
	}
}
