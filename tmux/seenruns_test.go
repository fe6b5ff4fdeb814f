package tmux

import (
	"fmt"
	"testing"
)

func TestSeenRunsAreBounded(t *testing.T) {
	var s seenRuns
	for i := range 3 * mostSeen {
		if !s.add(fmt.Sprint(i)) || s.add(fmt.Sprint(i)) || !s.has(fmt.Sprint(i)) {
			t.Fatalf("run %d is not added once", i)
		}
		if len(s.runs) > mostSeen {
			t.Fatalf("%d runs are remembered", len(s.runs))
		}
	}
}
