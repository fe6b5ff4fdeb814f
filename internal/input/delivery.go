package input

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agentform/agentform/session"
)

// delivery is one text to be delivered. It compares later snapshots with the one before typing.
type delivery struct {
	before   Snapshot
	composer Composer // nil: unknown
	typed    string
	probes   []string // parts of the text, without white space
	verbatim bool
	at       time.Time // when it was typed
	message  bool      // for the model, not a command
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

// IsMessage reports whether a text typed into an agent is a message for the model, and not a
// command of the agent.
func IsMessage(agent session.Agent, text string) bool {
	if c, known := agent.(Composer); known {
		text = c.Typed(text)
	}
	return dense(text) != "" && !strings.HasPrefix(text, "/")
}

const (
	// probeLength is the length of a probe in characters, less than a line of a narrow terminal.
	probeLength = 24
	// lastProbeLength is the minimum length in bytes of a text's last line as a probe: every screen
	// shows a bracket.
	lastProbeLength = 8
)

// probesOf returns the parts of a text to find on the screen: the start of its first line and,
// since the text may exceed the screen, of its last line.
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

// ending returns the end of a text, without white space, as shown by a field that is too narrow for
// the text.
func ending(text string) string {
	r := []rune(dense(text))
	return string(r[max(0, len(r)-probeLength):])
}

// dense returns a text without white space, since agents break lines anywhere. Qwen Code 0.15.10
// draws its cursor as a zero-width blank, and opencode a bar at the left of each row.
func dense(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r == '\u200b' || r == '┃' {
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

// Drafted reports whether the composer has the start of a typed text, as left by a command that was
// killed before it submitted the text.
func Drafted(agent session.Agent, screen, text string) bool {
	c, known := agent.(Composer)
	if !known || text == "" {
		return false
	}
	draft, shown := c.Composer(screen)
	return shown && dense(draft) != "" && strings.HasPrefix(dense(c.Typed(text)), dense(draft))
}

// Traces returns whether a screen shows all of a text (shown), and with nothing after it (unsent),
// as left by a command that was killed before it pressed Enter. It ignores a text too short to be
// distinguished from other words.
func Traces(screen, text string) (shown, unsent bool) {
	seen, probes := dense(screen), probesOf(text)
	if len([]rune(dense(text))) < lastProbeLength {
		return false, false
	}
	for _, p := range probes {
		if !strings.Contains(seen, p) {
			return false, false
		}
	}
	return true, strings.HasSuffix(seen, ending(text))
}

// late reports whether the agent may submit and report a text seconds after Enter.
func (d delivery) late() bool { return d.composer != nil && d.composer.Late() }

// patience returns how long the agent has to show a text before Enter is pressed again. A late
// agent submits what its composer has by then, including a mark.
func (d delivery) patience() time.Duration {
	if d.late() {
		return readTimeout
	}
	return confirmTimeout
}

func (d delivery) draft(s Snapshot) bool {
	return d.composer != nil && drafted(d.composer, s.Screen)
}

// marks returns the typed marks that the composer shows, in order: alone, after its earlier text,
// or at the end of the text, which may be rows below the composer's first.
func (d delivery) marks(before, now Snapshot, typed string) string {
	was, _ := d.composed(before)
	is, shown := d.composed(now)
	if !shown || is == "" {
		return ""
	}
	_, rows := around(now, is)
	for _, run := range runs(typed) {
		if dense(is) == run || was != "" && containsWhole(rows, dense(was)+run) || d.typed != "" && containsWhole(rows, ending(d.typed)+run) {
			return run
		}
	}
	return ""
}

// containsWhole reports whether a screen shows a text, ignoring line breaks, with no letter or
// digit right after it: names of models in status bars contain dots.
func containsWhole(screen, text string) bool {
	all, want := []rune(screen), []rune(text)
	var seen []rune
	for i, r := range all {
		if dense(string(r)) == "" {
			continue
		}
		seen = append(seen, r)
		if i+1 < len(all) && (unicode.IsLetter(all[i+1]) || unicode.IsDigit(all[i+1])) {
			continue
		}
		if n := len(seen) - len(want); n >= 0 && slices.Equal(seen[n:], want) {
			return true
		}
	}
	return false
}

// runs returns what may remain of a text if some of its characters are lost, longest first.
func runs(text string) []string {
	if text == "" {
		return nil
	}
	var all []string
	rest := runs(text[1:])
	for _, r := range rest {
		all = append(all, text[:1]+r)
	}
	all = append(append(all, rest...), text[:1])
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// around returns the parts of a screen above a line of the composer, and from there on. The line
// ends its row, since a status bar below may contain a short text, too.
func around(s Snapshot, line string) (above, below string) {
	i := max(0, strings.LastIndex(s.Screen, line))
	rows := strings.SplitAfter(s.Screen, "\n")
	for end := len(s.Screen); line != "" && len(rows) > 0; rows = rows[:len(rows)-1] {
		row := rows[len(rows)-1]
		end -= len(row)
		if row = strings.TrimRight(row, "\n "); strings.HasSuffix(row, line) {
			i = end + len(row) - len(line)
			break
		}
	}
	return s.Screen[:i], s.Screen[i:]
}

// verifiable reports whether the agent shows anything that confirms a text. Its session file and
// its hooks report no commands.
func (d delivery) verifiable(s Snapshot) bool {
	_, shown := d.composed(s)
	return shown || !d.verbatim && (s.Transcript != nil || s.HookEvents > 0)
}

// lost reports whether the text left no trace once the agent has read it: the composer is empty,
// and the screen has not changed, or the text is neither on the screen nor in the session file,
// which has each prompt. A text that looks like a command may have been executed. An agent that was
// busy may have the text in a queue that it does not draw yet: Qwen Code 0.15.10 got it twice.
func (d delivery) lost(now Snapshot) bool {
	if text, shown := d.composed(now); !shown || text != "" || now.asks() || d.before.busy() {
		return false
	}
	return now.Screen == d.before.Screen ||
		d.message && d.before.Transcript != nil && now.Transcript != nil && len(d.probes) > 0 && !d.visible(now)
}

// traced reports whether the text left a trace once the agent has read it: it is on the screen, or
// is a command that changed the screen. Codex 0.169 clears its screen for /clear.
func (d delivery) traced(now Snapshot) bool {
	return d.visible(now) || d.verbatim && now.Screen != d.before.Screen
}

// received reports whether the agent has the text: its hooks or session file report it, or the
// composer is empty and work has begun that is not on earlier input, or the text is on the screen
// once more. Claude Code 2.1.197 may show a received message in its composer as well.
func (d delivery) received(now Snapshot) bool {
	text, shown := d.composed(now)
	rested := !d.before.busy() && !d.before.asks() && (d.before.PromptBy.IsZero() || !now.Tells || !d.message)
	switch {
	case d.told(now), now.asks() && rested:
		return true
	case text != "":
		above, _ := around(now, text)
		return d.message && shows(above, d.probes) > d.shows(d.before)
	case now.working() && rested:
		return true
	case !shown:
		return d.composer == nil && now.Screen != d.before.Screen
	case now.Screen == d.before.Screen:
		return false
	case d.verbatim && d.late() && time.Since(d.at) >= confirmTimeout: // opencode 1.18.33 shows nothing of /new
		return true
	}
	return len(d.probes) == 0 || d.shows(now) > d.shows(d.before)
}

// told reports whether hooks or session file report that the agent has the text, if only in its
// queue. Other events may belong to earlier input.
func (d delivery) told(now Snapshot) bool {
	was, is := d.before.Transcript, now.Transcript
	if !d.message || !now.Tells {
		return now.HookEvents > d.before.HookEvents || is != nil && (was == nil && is.Prompts > 0 || was != nil && is.Prompts > was.Prompts)
	}
	all := now.Messages
	if is != nil {
		all = slices.Concat(all, is.Queued)
	}
	return slices.ContainsFunc(all, func(m session.Message) bool {
		return !m.At.Before(d.at) && strings.Contains(dense(m.Text), dense(d.typed))
	})
}

// shows returns how many times the screen shows the text.
func (d delivery) shows(now Snapshot) int { return shows(now.Screen, d.probes) }

// shows returns how many times a screen shows one of the parts of a text.
func shows(screen string, parts []string) int {
	screen, n := dense(screen), 0
	for _, p := range parts {
		n = max(n, strings.Count(screen, p))
	}
	return n
}

func (d delivery) visible(now Snapshot) bool { return d.shows(now) > 0 }
