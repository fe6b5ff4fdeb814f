package input

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agentform/agentform/session"
)

// witness says by what it saw before whether a text was taken.
type witness struct {
	before   Sight
	composer Composer // nil: not known
	probes   []string
	command  bool // the text is a command of the agent's own
}

// probeLength is how much of a text is looked for on the screen, in characters: a
// narrow terminal's line has more.
const probeLength = 24

// probesOf are what shows of a text where it stands, without blanks, since lines
// are broken anywhere: the beginning of its first line, and of a text that is
// longer than the screen the beginning of its last.
func probesOf(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if p := []rune(dense(line)); len(p) > 0 {
			all = append(all[:min(len(all), 1)], string(p[:min(len(p), probeLength)]))
		}
	}
	if len(all) == 2 && len(all[1]) < lastProbe {
		return all[:1]
	}
	return all
}

// lastProbe is how long, in bytes, the last line has to be to tell anything: a
// bracket is on every screen.
const lastProbe = 8

// dense is a text without white space.
func dense(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u00a0' {
			return -1
		}
		return r
	}, text)
}

// knows reports whether the agent shows anything by which a text can be seen to be
// taken.
func (w witness) knows(s Sight) bool {
	return w.composer != nil && w.shown(s) || s.Transcript != nil || s.Heard > 0
}

func (w witness) shown(s Sight) bool {
	_, shown := w.composer.Composer(s.Screen)
	return shown
}

// draft reports whether text stands in the composer.
func (w witness) draft(s Sight) bool {
	if w.composer == nil {
		return false
	}
	text, shown := w.composer.Composer(s.Screen)
	return shown && text != ""
}

// again is what is to be typed once more: Enter, where the text stands in the
// composer; the text, where it has left no trace at all. False: neither is sure.
func (w witness) again(now Sight, text string) (session.Input, bool) {
	switch {
	case asks(now):
	case w.draft(now):
		return session.Input{Key: "Enter"}, true
	case w.composer != nil && w.shown(now) && w.traceless(now):
		return session.Input{Text: text}, true
	}
	return session.Input{}, false
}

// traceless reports whether nothing at all came of what was typed: the screen is as
// it was; or an agent whose file tells each prompt, and which still drew its first
// screens, has it neither there nor on its screen.
func (w witness) traceless(now Sight) bool {
	return now.Screen == w.before.Screen ||
		!w.command && w.before.Transcript != nil && now.Transcript != nil && len(w.probes) > 0 && !w.onScreen(now)
}

// taken reports whether the agent has the text: its hooks or its file tell so, it
// has begun to work, or the text stands on the screen and the composer is empty.
func (w witness) taken(now Sight) bool {
	was, is := w.before, now
	switch {
	case now.Heard > w.before.Heard:
		return true
	case is.Transcript != nil && (was.Transcript == nil && is.Transcript.Prompts > 0 || was.Transcript != nil && is.Transcript.Prompts > was.Transcript.Prompts):
		return true
	case busy(is.Detection.Activity) && !busy(was.Detection.Activity):
		return true
	case w.composer == nil || !w.shown(now):
		return w.composer == nil && now.Screen != w.before.Screen
	}
	if w.draft(now) || now.Screen == w.before.Screen {
		return false
	}
	return len(w.probes) == 0 || w.onScreen(now)
}

// onScreen reports whether the text shows.
func (w witness) onScreen(now Sight) bool {
	shown := dense(now.Screen)
	return slices.ContainsFunc(w.probes, func(p string) bool { return strings.Contains(shown, p) })
}

func busy(a session.Activity) bool { return a == session.Working || a == session.Blocked }
