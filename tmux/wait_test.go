package tmux

import (
	"fmt"
	"testing"
)

func TestBoundedSet(t *testing.T) {
	var s boundedSet
	for i := range 3 * setLimit {
		if !s.add(fmt.Sprint(i)) || s.add(fmt.Sprint(i)) || !s.has(fmt.Sprint(i)) {
			t.Fatalf("run %d is not added once", i)
		}
		if len(s.runs) > setLimit {
			t.Fatalf("%d runs are remembered", len(s.runs))
		}
	}
}
