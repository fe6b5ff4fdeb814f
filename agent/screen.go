package agent

import (
	"regexp"
	"strings"
	"time"

	"github.com/agentform/agentform/session"
)

// sight is a screen, cut up as its reading needs it.
type sight struct {
	whole string
	all   []string // its lines
	shown []string // those above the composer or, where none shows, the status bar
	now   []string // of all, those below the last prompt
	end   string   // where dialogs and composers are
	turn  string   // of that, what is below the last prompt
	// composer is how many of the lines are above the composer and it; 0: none shows.
	composer int
}

// look cuts a screen up. Typed is where it shows what was typed.
func (r *reader) look(screen string, typed []session.Span) sight {
	rows := rowsOf(screen)
	s := sight{whole: screen, all: make([]string, len(rows))}
	for i := range rows {
		s.all[i] = rows[i].text
	}
	s.end = last(s.all, markLines)
	s.composer = r.composerEnd(s.all)
	begin := r.present(rows, typed, s.composer)
	if r.turn == nil && begin >= s.composer { // what looks like the composer is a prompt
		s.composer = 0
	}
	if s.composer > 0 {
		s.shown = s.all[:s.composer-1]
	} else {
		s.shown = s.all[:max(0, len(s.all)-r.statusBar)]
	}
	s.now = s.all[begin:]
	s.turn = last(s.now, min(markLines, len(s.now)))
	return s
}

// composerEnd is how many lines there are up to the composer: the last line that looks
// like one, with no more than the status bar below it.
func (r *reader) composerEnd(all []string) int {
	for i := len(all) - 1; i >= max(0, len(all)-1-max(r.statusBar, footerLines)); i-- {
		if is := r.composing.line; !option.MatchString(all[i]) && (is != nil && is.MatchString(all[i]) || is == nil && r.prompts(all[i])) {
			return i + 1
		}
	}
	return 0
}

// present is the number of the first line below the last prompt: what is above it is of
// earlier turns, and the prompt says nothing of what became of it. 0: no prompt shows.
func (r *reader) present(rows []row, typed []session.Span, composer int) int {
	if r.turn == nil {
		return max(r.belowTyped(rows, typed, composer-1), r.belowPrompt(rows, composer-1))
	}
	for i := len(rows) - 1; i >= 0; i-- {
		if i == composer-1 || !r.turn.MatchString(rows[i].text) || option.MatchString(rows[i].text) {
			continue
		}
		for i++; i < len(rows) && !rows[i].gap && !agentLine.MatchString(rows[i].text); i++ {
		}
		return i
	}
	return 0
}

// option is an answer to choose, in the agents' dialogs. agentLine is how a line of an
// agent's own begins.
var (
	option    = regexp.MustCompile(`^([❯›●▶▸>] ?)?\d+[.)] `)
	agentLine = regexp.MustCompile(`^[●⎿✢✽✻✶·•◦■✦✕ℹ⚠✓⊷]`)
)

// row is a line of a screen that is not blank.
type row struct {
	text string // without the borders around it
	gap  bool   // a line that is blank or a border is above it
	line int    // its number on the screen
}

func rowsOf(screen string) []row {
	var rows []row
	gap, number := false, 0
	for line := range strings.Lines(screen) {
		text := unframed(line)
		if text != "" {
			rows = append(rows, row{text, gap, number})
		}
		gap = text == ""
		number++
	}
	return rows
}

// doing reads a live agent: by what its session file, its hooks and its title
// say, and by its screen, which may know what the others cannot.
func (r *reader) doing(e session.Evidence) session.Reading {
	said := r.statements(e)
	if e.Screen == "" && !e.Blank { // not looked at
		return weigh(said, e.Now)
	}
	s := r.look(e.Screen, e.Typed)
	if len(said) == 0 {
		reading := r.alone(s, e)
		reading.Source = FromScreen
		return reading
	}
	if reading, shown := r.besides(s, said[0], e); shown {
		reading.Source = FromScreen
		return reading
	}
	reading := weigh(said, e.Now)
	if reading.Activity == session.Blocked {
		reading.Detail = r.asked(reading.Detail, s)
	}
	return reading
}

// besides is what the screen shows that counts for more than the best of the
// other signals: what the manifest makes a sign, a dialog, a limit while it works;
// and, if only the title speaks, which knows of neither, an end or a failure. What
// an agent writes while it works is its work and no sign.
func (r *reader) besides(s sight, best statement, e session.Evidence) (session.Reading, bool) {
	if seen := r.declared(s); seen.Activity != "" && !e.Replayed {
		return seen, true
	}
	if best.Activity == session.Blocked {
		return session.Reading{}, false
	}
	if best.Source == FromTitle && best.Activity != session.Working {
		switch seen := r.screen(s, e); seen.Activity {
		case session.Done, session.BlockedAPI, session.Failed:
			return seen, true
		}
	}
	if r.asks(s, best) {
		return session.Reading{Activity: session.Blocked, Detail: r.question(s)}, true
	}
	if line := r.own.retrying.line(s.turn); line != "" && best.Activity == session.Working {
		return session.Reading{Activity: session.BlockedAPI, Detail: line}, true
	}
	return session.Reading{}, false
}

// declared is what the manifest's own patterns say of an end, a limit or a failure.
func (r *reader) declared(s sight) session.Reading {
	text := last(s.now, len(s.now))
	for _, look := range []struct {
		activity session.Activity
		said     patterns
	}{{session.Done, r.said.done}, {session.BlockedAPI, r.said.limit}, {session.Failed, r.said.failed}} {
		if line := look.said.line(text); line != "" {
			return session.Reading{Activity: look.activity, Detail: line}
		}
	}
	return session.Reading{}
}

// asks reports whether a dialog is up.
func (r *reader) asks(s sight, best statement) bool {
	return r.said.blocked.match(s.whole) || r.dialogUp(s) || rests(best.Activity) && r.strange(s)
}

// dialogUp reports whether one of the agent's own dialogs is up. It takes the
// composer's place: a question above a composer is something that the agent wrote.
func (r *reader) dialogUp(s sight) bool {
	if r.composing.line == nil && r.composer(s) {
		return false
	}
	at := r.own.blocked.lastRow(last(s.all, markLines))
	return at >= 0 && max(0, len(s.all)-markLines)+at >= s.composer
}

// strange reports whether a dialog is up that is not known: answers to choose
// from where the composer would be.
func (r *reader) strange(s sight) bool {
	return len(r.own.blocked) > 0 && len(r.ready) > 0 && r.dialog.match(s.end) && !r.composer(s) && !r.own.working.match(s.end)
}

// composer reports whether the screen shows where a prompt is typed. Its frame
// and the blanks in it may be part of the pattern, or not.
func (r *reader) composer(s sight) bool {
	return s.composer > 0 || r.ready.match(s.whole) || r.ready.match(s.end)
}

// drafted reports whether the composer holds text that was not submitted.
func (r *reader) drafted(s sight) bool {
	if s.composer == 0 || r.composing.line == nil || !r.begun(s.all) || r.dialog.match(s.end) {
		return false
	}
	return r.composing.text(s.all[s.composer-1]) != ""
}

// alone reads a screen of which nothing else tells: by its patterns, and then by
// the time it has had.
func (r *reader) alone(s sight, e session.Evidence) session.Reading {
	reading := r.screen(s, e)
	if reading.Activity != session.NoActivity || len(r.ready) == 0 {
		return reading
	}
	switch {
	case r.strange(s):
		return session.Reading{Activity: session.Blocked, Detail: r.question(s)}
	case r.drafted(s), r.own.ended.match(last(s.now, len(s.now))) && !e.Replayed:
		return session.Reading{Activity: session.Idle}
	}
	if !e.StartedAt.IsZero() && !e.Now.IsZero() && e.Now.Sub(e.StartedAt) < r.boots {
		return session.Reading{Activity: session.Booting}
	}
	return reading
}

// screen reads a screen by its patterns, in this order: done, blocked_api,
// failed, exited, blocked, working; and then whether the agent waits for input.
func (r *reader) screen(s sight, e session.Evidence) session.Reading {
	if !e.Replayed {
		if seen := r.declared(s); seen.Activity != "" {
			return seen
		}
		if seen := r.verdict(s, e); seen.Activity != "" {
			return seen
		}
	}
	bottom := last(s.all, 1)
	switch {
	case r.shell.match(bottom) && !r.ui.match(s.whole):
		return session.Reading{Activity: session.Exited, Detail: "a shell has the terminal: " + bottom}
	case r.said.blocked.match(s.whole) || r.dialogUp(s):
		return session.Reading{Activity: session.Blocked, Detail: r.question(s)}
	case r.working(s):
		return session.Reading{Activity: session.Working}
	case len(r.ready) == 0:
		return session.Reading{Activity: session.NoActivity}
	case len(s.all) == 0:
		return session.Reading{Activity: session.Booting}
	case r.Ready(s.whole):
		return session.Reading{Activity: session.Idle}
	}
	return session.Reading{Activity: session.NoActivity}
}

func (r *reader) working(s sight) bool {
	return r.said.working.match(s.whole) || r.own.working.match(s.end)
}

// verdict is what the agent's own marks and the common phrases say of an end, a limit
// or a failure of the present turn: the lowest on the screen, and so the last. Of two on
// one line, a limit explains a failure. Above a sign of work nothing
// counts but a limit at which the agent tries again.
func (r *reader) verdict(s sight, e session.Evidence) session.Reading {
	if line := r.own.retrying.line(s.turn); line != "" {
		return session.Reading{Activity: session.BlockedAPI, Detail: line}
	}
	all, from := s.all, len(s.all)-len(s.now)
	text := func(n, to int) string { return strings.Join(all[min(to, max(from, to-n)):to], "\n") }
	row := func(p patterns, n, to int, text string) int {
		if at := p.lastRow(text); at >= 0 {
			return min(to, max(from, to-n)) + at
		}
		return -1
	}
	turn := text(markLines, len(all))
	best := later(mark{session.BlockedAPI, row(r.own.limit, markLines, len(all), turn)}, mark{session.Failed, row(r.own.failed, markLines, len(all), turn)})
	if r.settled(e) {
		to := len(s.shown)
		phrase := func(p patterns, n int) int { return row(p, n, to, lower(text(n, to))) }
		fault := later(mark{session.BlockedAPI, phrase(r.phrase.limit, limitLines)}, mark{session.Failed, phrase(r.phrase.failed, failedLines)})
		best = later(later(mark{session.Done, phrase(r.phrase.done, doneLines)}, fault), best)
	}
	if best.row < 0 || r.worksBelow(s, best.row) {
		return session.Reading{}
	}
	return session.Reading{Activity: best.activity, Detail: all[best.row]}
}

// worksBelow reports whether a line below shows that the agent works.
func (r *reader) worksBelow(s sight, row int) bool {
	below := last(s.all, len(s.all)-row-1)
	return r.said.working.match(below) || r.own.working.match(below)
}

// mark is something that a line of the screen says; below 0: no line does.
type mark struct {
	activity session.Activity
	row      int
}

// later is the lower of two marks; on one line, the limit.
func later(a, b mark) mark {
	if a.row > b.row || a.row == b.row && a.activity == session.BlockedAPI {
		return a
	}
	return b
}

// settled reports whether a phrase can be a verdict: what an agent prints while it goes
// on is its work. Of a runtime that does not tell when it last put something out every
// phrase counts.
func (r *reader) settled(e session.Evidence) bool {
	return e.MovedAt.IsZero() || e.Now.IsZero() || e.Now.Sub(e.MovedAt) >= restFor
}

// restFor is for how long an agent must have put nothing out to have come to rest:
// runtimes count seconds.
const restFor = 2 * time.Second

// question is what a person is asked: from the line that matches on, with all the
// answers there are, or the end of the screen where none matches.
func (r *reader) question(s sight) string {
	from := max(0, len(s.all)-markLines)
	if at := r.own.blocked.firstRow(last(s.all, markLines)); at >= 0 {
		return strings.Join(s.all[from+at:], "\n")
	}
	if at := r.said.blocked.firstRow(last(s.all, len(s.all))); at >= 0 {
		return strings.Join(s.all[at:min(len(s.all), at+markLines)], "\n")
	}
	if at := firstOption(s.all); at >= 0 { // with what is asked, above it
		return strings.Join(s.all[max(from, at-questionLines, min(at, len(s.all)-len(s.now))):], "\n")
	}
	return last(s.all, questionLines)
}

// firstOption is the number of the first answer in a dialog at the end of a screen; -1:
// there is none.
func firstOption(all []string) int {
	for i := max(0, len(all)-markLines); i < len(all); i++ {
		if option.MatchString(all[i]) {
			return i
		}
	}
	return -1
}

// questionLines is how many lines are told of a question that is not known.
const questionLines = 6

// asked is a question that another signal tells, with the answers on the screen, which
// no other signal has.
func (r *reader) asked(told string, s sight) string {
	if told == "" {
		return r.question(s)
	}
	if at := firstOption(s.all); at >= 0 && (r.dialogUp(s) || r.strange(s)) {
		return told + "\n" + strings.Join(s.all[at:], "\n")
	}
	return told
}
