package input

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agentform/agentform/session"
)

// delivery is one text that is sent. It compares later snapshots with that before it was
// typed.
type delivery struct {
	before   Snapshot
	composer Composer // nil: unknown
	typed    string
	probes   []string // parts of the text, without white space
	verbatim bool
}

func newDelivery(before Snapshot, agent session.Agent, text string, verbatim bool) delivery {
	d := delivery{before: before, typed: text, probes: probesOf(text), verbatim: verbatim}
	if c, known := agent.(Composer); known {
		if d.composer = c; !verbatim {
			d.typed = c.Typed(text)
		}
	}
	return d
}

const (
	// probeLength is the length of a probe in characters; a narrow terminal's line has more.
	probeLength = 24
	// lastProbeLength is the least length in bytes of a text's last line as a probe: every
	// screen shows a bracket.
	lastProbeLength = 8
)

// probesOf returns what the screen shows of a text: the beginning of its first line and,
// since the text may be longer than the screen, of its last line.
func probesOf(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		if p := []rune(dense(line)); len(p) > 0 {
			all = append(all[:min(len(all), 1)], string(p[:min(len(p), probeLength)]))
		}
	}
	if len(all) == 2 && len(all[1]) < lastProbeLength {
		return all[:1]
	}
	return all
}

// dense returns a text without white space: agents break lines anywhere.
func dense(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u00a0' {
			return -1
		}
		return r
	}, text)
}

func (d delivery) composed(s Snapshot) (text string, shown bool) {
	if d.composer == nil {
		return "", false
	}
	return d.composer.Composer(s.Screen)
}

func (d delivery) draft(s Snapshot) bool {
	text, shown := d.composed(s)
	return shown && text != ""
}

// verifiable reports whether the agent shows anything that confirms a text.
func (d delivery) verifiable(s Snapshot) bool {
	_, shown := d.composed(s)
	return shown || s.Transcript != nil || s.HookEvents > 0
}

// next returns what to type again: Enter if the text is in the composer, the text if it
// left no trace. If neither is certain, safe is false.
func (d delivery) next(now Snapshot) (in session.Input, safe bool) {
	_, shown := d.composed(now)
	switch {
	case now.asks():
	case d.draft(now):
		return session.Input{Key: "Enter"}, true
	case shown && d.lost(now):
		return session.Input{Text: d.typed}, true
	}
	return session.Input{}, false
}

// lost reports whether the text left no trace: the screen has not changed, or the text is
// neither on the screen nor in the session file, to which the agent writes each prompt.
func (d delivery) lost(now Snapshot) bool {
	return now.Screen == d.before.Screen ||
		!d.verbatim && d.before.Transcript != nil && now.Transcript != nil && len(d.probes) > 0 && !d.visible(now)
}

// received reports whether the agent has the text: its hooks or session file say so, it
// began to work, or the text is on the screen and the composer is empty.
func (d delivery) received(now Snapshot) bool {
	was, is := d.before.Transcript, now.Transcript
	_, shown := d.composed(now)
	switch {
	case now.HookEvents > d.before.HookEvents,
		is != nil && (was == nil && is.Prompts > 0 || was != nil && is.Prompts > was.Prompts),
		(now.working() || now.asks()) && !d.before.working() && !d.before.asks():
		return true
	case !shown:
		return d.composer == nil && now.Screen != d.before.Screen
	case d.draft(now) || now.Screen == d.before.Screen:
		return false
	}
	return len(d.probes) == 0 || d.visible(now)
}

func (d delivery) visible(now Snapshot) bool {
	screen := dense(now.Screen)
	return slices.ContainsFunc(d.probes, func(p string) bool { return strings.Contains(screen, p) })
}
