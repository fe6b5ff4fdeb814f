package launch

import (
	"context"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// composing is an agent that is ready when its composer shows a hint.
type composing struct{ session.Agent }

func (composing) Ready(screen string) bool { return strings.Contains(screen, "> Type here") }

func (composing) Detect(session.Evidence) session.Detection { return session.Detection{} }

func (composing) Composer(screen string) (text string, shown bool) {
	_, text, shown = strings.Cut(screen, "> ")
	if text == "Type here" {
		text = ""
	}
	return strings.TrimSpace(text), shown
}

func (composing) Typed(text string) string { return text }

func (composing) Late() bool { return false }

// TestReadyWithADraft checks that an agent is ready whose composer has the prompt that a killed
// command typed.
func TestReadyWithADraft(t *testing.T) {
	for name, c := range map[string]struct {
		screen, paste string
		ready         bool
	}{
		"at its hint":      {"> Type here", "begin it", true},
		"starting":         {"loading", "begin it", false},
		"the prompt":       {"> begin it", "begin it", true},
		"its first row":    {"> begin", "begin it", true},
		"something else":   {"> continue", "begin it", false},
		"nothing to paste": {"> begin it", "", false},
	} {
		r := Run{
			Record: &session.Record{Run: session.Run{ID: "r"}}, Agent: composing{}, Paste: c.paste,
			Lives: func(context.Context) ([]session.Live, error) {
				return []session.Live{{Mark: session.Mark{Run: "r"}, Liveness: session.Alive, Screen: c.screen}}, nil
			},
		}
		if _, ready, err := r.check(t.Context()); ready != c.ready || err != nil {
			t.Errorf("%s: ready %v, %v, want %v", name, ready, err, c.ready)
		}
	}
}
