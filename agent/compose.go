package agent

import (
	"regexp"
	"strings"
)

// composing is where an agent's screen has what is being typed.
type composing struct {
	line, hint *regexp.Regexp // nil: not known
}

func composingOf(m marks) (c composing) {
	if m.composer != "" {
		c.line = regexp.MustCompile(m.composer)
	}
	if m.hint != "" {
		c.hint = regexp.MustCompile(m.hint)
	}
	return c
}

// Composer is what stands in the composer that a screen shows: the last line that
// looks like one, without hints. False: there is none, or it is not known how it
// looks.
func (p *program) Composer(screen string) (text string, shown bool) {
	if p.composing().line == nil {
		return "", false
	}
	all := lines(screen)
	for i := len(all) - 1; i >= max(0, len(all)-markLines); i-- {
		m := p.composing().line.FindStringSubmatch(all[i])
		if m == nil {
			continue
		}
		text = strings.Trim(m[1], frame)
		if p.composing().hint != nil && p.composing().hint.MatchString(text) {
			text = ""
		}
		return text, true
	}
	return "", false
}

// Typed is a text as it has to be typed to be taken for one: a blank goes before
// what would make it a command of the agent's own.
func (p *program) Typed(text string) string {
	if text != "" && strings.IndexByte(p.commands, text[0]) >= 0 {
		return " " + text
	}
	return text
}
