package agent

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestPastedMessage checks that text pasted by a user says nothing about the agent, while the same
// text from the agent does.
func TestPastedMessage(t *testing.T) {
	const failed = "✕ [API Error: 500 scripted]"
	const composer = "\n\n ? for shortcuts\n >   Type your message or @path/to/file\n workspace\n /work/shop\n"
	for name, c := range map[string]struct {
		message, screen string
		want            session.Activity
	}{
		"pasted":                     {"why?\n\n" + failed + "\n\nTell me", " > why?\n\n   " + failed + "\n\n   Tell me\n\n✦ It was busy.", session.Idle},
		"wrapped":                    {"why?\n\n" + failed + " " + strings.Repeat("and ", 9), " > why?\n\n   ✕ [API Error: 500\n   scripted] and and and and and\n   and and and and\n\n✦ It was busy.", session.Idle},
		"with the mark of a message": {"why?\n\n> so\n\n" + failed, " > why?\n\n   > so\n\n   " + failed + "\n\n✦ It was busy.", session.Idle},
		"it has failed, too":         {"why?\n\n" + failed, " > why?\n\n   " + failed + "\n\n" + failed, session.Failed},
		"of a turn before":           {"why?\n\n" + failed, " > why?\n\n   " + failed + "\n\n✦ It was busy.\n\n > again\n\n" + failed, session.Failed},
		"another message":            {"what?", " > why?\n\n" + failed, session.Failed},
	} {
		e := session.Evidence{Liveness: session.Alive, Title: "◇  Ready (shop)", Screen: " Gemini CLI v0.61.0\n\n" + c.screen + composer,
			Transcript: &session.Transcript{LastPrompt: c.message}}
		if got := For(builtin("gemini")).Detect(e); got.Activity != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}
