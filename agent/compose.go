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
		if p.composing().line.MatchString(all[i]) {
			return p.composing().text(all[i]), true
		}
	}
	return "", false
}

// text returns what stands in the composer's line, without hints.
func (c composing) text(line string) string {
	m := c.line.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	text := strings.Trim(m[1], frame)
	if c.hint != nil && c.hint.MatchString(text) {
		return ""
	}
	return text
}

// Typed is a text as it has to be typed to be taken for one: a blank goes before
// what would make it a command of the agent's own.
func (p *program) Typed(text string) string {
	if text != "" && strings.IndexByte(p.commands, text[0]) >= 0 {
		return " " + text
	}
	return text
}
