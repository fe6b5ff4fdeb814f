package input

import (
	"slices"
	"strings"
	"time"
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
	at       time.Time // when it was typed
	message  bool      // for the model, and no command
}

func newDelivery(before Snapshot, agent session.Agent, text string, verbatim bool) delivery {
	d := delivery{before: before, typed: text, probes: probesOf(text), verbatim: verbatim, message: !verbatim && IsMessage(agent, text)}
	if c, known := agent.(Composer); known {
		if d.composer = c; !verbatim {
			d.typed = c.Typed(text)
		}
	}
	return d
}

// IsMessage reports whether a text is a message for the model when it is typed into an
// agent, and no command of the agent's own.
func IsMessage(agent session.Agent, text string) bool {
	if c, known := agent.(Composer); known {
		text = c.Typed(text)
	}
	return dense(text) != "" && !strings.HasPrefix(text, "/")
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

// lost reports whether the text left no trace, once the agent has read it: its composer is
// empty, and the screen has not changed, or the text is neither on the screen nor in the
// session file, to which the agent writes each prompt. One that looks like a command may
// have been carried out.
func (d delivery) lost(now Snapshot) bool {
	if text, shown := d.composed(now); !shown || text != "" || now.asks() {
		return false
	}
	return now.Screen == d.before.Screen ||
		d.message && d.before.Transcript != nil && now.Transcript != nil && len(d.probes) > 0 && !d.visible(now)
}

// received reports whether the agent has the text: its hooks or session file tell it, or
// the composer is empty and it began to work, but not on the prompt that it was started with,
// or the text is on the screen once more.
func (d delivery) received(now Snapshot) bool {
	_, shown := d.composed(now)
	rested := !d.before.working() && !d.before.asks() && (d.before.PromptBy.IsZero() || !now.Tells || !d.message)
	switch {
	case d.told(now), now.asks() && rested:
		return true
	case d.draft(now):
		return false
	case now.working() && rested:
		return true
	case !shown:
		return d.composer == nil && now.Screen != d.before.Screen
	case now.Screen == d.before.Screen:
		return false
	}
	return len(d.probes) == 0 || d.shows(now) > d.shows(d.before)
}

// told reports whether hooks or session file tell that the agent has the text. Other events
// may be of what it was sent before.
func (d delivery) told(now Snapshot) bool {
	was, is := d.before.Transcript, now.Transcript
	if !d.message || !now.Tells {
		return now.HookEvents > d.before.HookEvents || is != nil && (was == nil && is.Prompts > 0 || was != nil && is.Prompts > was.Prompts)
	}
	return slices.ContainsFunc(now.Messages, func(m session.Message) bool {
		return !m.At.Before(d.at) && strings.Contains(dense(m.Text), dense(d.typed))
	})
}

// shows returns how often the screen shows the text.
func (d delivery) shows(now Snapshot) int {
	screen, n := dense(now.Screen), 0
	for _, p := range d.probes {
		n = max(n, strings.Count(screen, p))
	}
	return n
}

func (d delivery) visible(now Snapshot) bool { return d.shows(now) > 0 }
