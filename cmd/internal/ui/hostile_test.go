package ui_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/cmd/internal/ui"
)

// Logs, events and plans keep their colors, but no other control sequences.
func TestHostileLog(t *testing.T) {
	p := open(t, 80, 24, row("a", "works"))
	p.press("l")
	for _, load := range asked[ui.Load](p) {
		p.give(ui.Loaded{Load: load, Text: "one\x1b]0;x\a\x1b[2J \x1b[31mtwo\x1b[0m three\x1b]0;y\a"})
	}
	p.see("one", "two", "three")
	screen, _ := p.View()
	if strings.ContainsAny(screen, "\a") || strings.Contains(screen, "\x1b]") || strings.Contains(screen, "\x1b[2J") {
		t.Errorf("%q", screen)
	}
}

// Only y confirms.
func TestConfirm(t *testing.T) {
	for _, key := range []string{"x", "enter", "n", " ", "esc", "Y", "ctrl+c"} {
		p := open(t, 80, 24, row("a", "works"))
		p.press("x", key)
		if len(asked[ui.Do](p)) > 0 {
			t.Errorf("%s confirms", key)
		}
	}
}
