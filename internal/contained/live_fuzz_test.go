package contained

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/tmuxwire"
	"github.com/agentform/agentform/session"
)

// FuzzPane checks what is accepted of tmux in a container, whose reports are claims: no negative
// number, only times that can be stored, and a pane without a blank end.
func FuzzPane(f *testing.F) {
	f.Add(`app|%0|7|0|||0|0|1|80|24|1790000000|||||title\|with\|bars`)
	f.Add("app|%0|-7|1|||1|2|-1|-80|99999999999999999999|9223372036854775807|||||\x1b]0;x\x07")
	f.Add("0|0|0")
	f.Add("a\n\nPane is dead (status 1, x)\n")
	f.Fuzz(func(t *testing.T, text string) {
		if shown := tmuxwire.Trim(text); shown != strings.TrimRight(shown, "\n \t") || strings.Contains(shown, " \n") {
			t.Errorf("%q is trimmed to %q", text, shown)
		}
		p, err := tmuxwire.ParsePane(text)
		if err != nil {
			return
		}
		var l session.Live
		ShowPane(&l, p, true)
		if l.Attached < 0 || l.Size[0] < 0 || l.Size[1] < 0 {
			t.Errorf("%q has %d clients on %v", text, l.Attached, l.Size)
		}
		if _, err := json.Marshal(l.MovedAt); err != nil {
			t.Errorf("%q moved at %v, which cannot be stored: %v", text, l.MovedAt, err)
		}
	})
}
