package tmux_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestEveryScreenIsSeen: the screens of panes %3 to %9 are no less seen than
// those before them.
func TestEveryScreenIsSeen(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const n = 12
	for i := range n {
		b.create(t, b.shell(t, fmt.Sprintf("s%d", i), fmt.Sprintf("echo I am s%d.; read x", i)))
	}
	until(t, "every session shows what it said", func() bool {
		lives, err := b.runtime.Observe(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, l := range lives {
			if strings.Contains(l.Screen, "I am "+l.Place.Name+".") {
				shown++
			}
		}
		return shown == n
	})
}
