package server

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestScrolled checks that only a screen that is full may have lost lines.
func TestScrolled(t *testing.T) {
	for name, c := range map[string]struct {
		lines int
		size  [2]int
		want  bool
	}{
		"full":             {50, [2]int{200, 50}, true},
		"all but the last": {49, [2]int{200, 50}, true},
		"half empty":       {20, [2]int{200, 50}, false},
		"of unknown size":  {50, [2]int{}, false},
	} {
		l := session.Live{Screen: strings.Repeat("a line\n", c.lines), Size: c.size}
		if got := scrolled(l); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
