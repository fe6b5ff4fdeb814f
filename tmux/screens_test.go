package tmux_test

import (
	"context"
	"fmt"
	"testing"
)

// TestEveryScreenIsSeen: the screens of panes %3 to %9 are no less seen than
// those before them.
func TestEveryScreenIsSeen(t *testing.T) {
	b := newBed(t)
	for i := range 12 {
		p := b.create(t, b.launch(t, fmt.Sprintf("s%d", i)))
		b.listening(t, p)
		b.send(t, p, fmt.Sprintf("say I am %d", i))
	}
	until(t, "every session shows what it said", func() bool {
		lives, err := b.runtime.Observe(context.Background(), true)
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, l := range lives {
			if l.Screen != "" {
				shown++
			}
		}
		return shown == 12
	})
}
