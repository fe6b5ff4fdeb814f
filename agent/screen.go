package agent

import (
	"strings"

	"github.com/agentform/agentform/session"
)

// sight is a screen, cut up as its reading needs it.
type sight struct {
	whole string
	all   []string // its lines
	shown []string // those above the status bar
	end   string   // where dialogs and composers are
	turn  string   // of that, what is of the last turn
}

// look cuts a screen up.
func (r *reader) look(screen string) sight {
	all := lines(screen)
	s := sight{whole: screen, all: all, shown: all[:max(0, len(all)-r.statusBar)], end: last(all, markLines)}
	s.turn = s.end
	for _, re := range r.turn {
		if begins := re.FindAllStringIndex(s.end, -1); len(begins) > 0 {
			s.turn = s.end[begins[len(begins)-1][0]:]
		}
	}
	return s
}

// doing reads a live agent: by what its session file, its hooks and its title
// say, and by its screen, which may know what the others cannot.
func (r *reader) doing(e session.Evidence) session.Reading {
	said := r.statements(e)
	if e.Screen == "" && !e.Blank { // not looked at
		return weigh(said, e.Now)
	}
	s := r.look(e.Screen)
	if len(said) == 0 {
		reading := r.alone(s, e)
		reading.Source = FromScreen
		return reading
	}
	if reading, shown := r.besides(s, said[0]); shown {
		reading.Source = FromScreen
		return reading
	}
	reading := weigh(said, e.Now)
	if reading.Activity == session.Blocked && reading.Detail == "" {
		reading.Detail = r.question(s)
	}
	return reading
}

// besides is what the screen shows that counts for more than the best of the
// other signals: what the manifest makes a sign, a dialog, a limit while it works;
// and, if only the title speaks, which knows of neither, an end or a failure. What
// an agent writes while it works is its work and no sign.
func (r *reader) besides(s sight, best statement) (session.Reading, bool) {
	for _, look := range []struct {
		activity session.Activity
		said     patterns
	}{{session.Done, r.said.done}, {session.BlockedAPI, r.said.limit}, {session.Failed, r.said.failed}} {
		if line := look.said.line(s.whole); line != "" {
			return session.Reading{Activity: look.activity, Detail: line}, true
		}
	}
	if best.Activity == session.Blocked {
		return session.Reading{}, false
	}
	if best.Source == FromTitle && best.Activity != session.Working {
		switch seen := r.screen(s); seen.Activity {
		case session.Done, session.BlockedAPI, session.Failed:
			return seen, true
		}
	}
	if r.asks(s, best) {
		return session.Reading{Activity: session.Blocked, Detail: r.question(s)}, true
	}
	if line := r.own.retrying.line(s.end); line != "" && best.Activity == session.Working {
		return session.Reading{Activity: session.BlockedAPI, Detail: line}, true
	}
	return session.Reading{}, false
}

// asks reports whether a dialog is up. While the agent's own file says otherwise,
// a question above its composer is something that it wrote.
func (r *reader) asks(s sight, best statement) bool {
	switch {
	case r.said.blocked.match(s.whole):
		return true
	case r.own.blocked.match(s.end):
		return best.Source != FromNative || !r.composer(s)
	}
	return rests(best.Activity) && r.strange(s)
}

// strange reports whether a dialog is up that is not known: answers to choose
// from where the composer would be.
func (r *reader) strange(s sight) bool {
	return len(r.own.blocked) > 0 && len(r.ready) > 0 && r.dialog.match(s.end) && !r.composer(s) && !r.own.working.match(s.end)
}

// composer reports whether the screen shows where a prompt is typed. Its frame
// and the blanks in it may be part of the pattern, or not.
func (r *reader) composer(s sight) bool { return r.ready.match(s.whole) || r.ready.match(s.end) }

// alone reads a screen of which nothing else tells: by its patterns, and then by
// the time it has had.
func (r *reader) alone(s sight, e session.Evidence) session.Reading {
	reading := r.screen(s)
	if reading.Activity != session.NoActivity || len(r.ready) == 0 {
		return reading
	}
	if r.strange(s) {
		return session.Reading{Activity: session.Blocked, Detail: r.question(s)}
	}
	if !e.StartedAt.IsZero() && !e.Now.IsZero() && e.Now.Sub(e.StartedAt) < r.boots {
		return session.Reading{Activity: session.Booting}
	}
	return reading
}

// screen reads a screen by its patterns, in this order: done, blocked_api,
// failed, exited, blocked, working; and then whether the agent waits for input.
// A completion is said before an exit, and a limit explains a failure.
func (r *reader) screen(s sight) session.Reading {
	for _, look := range []struct {
		activity          session.Activity
		said, own, phrase patterns
		lines             int
	}{
		{session.Done, r.said.done, r.own.done, r.phrase.done, doneLines},
		{session.BlockedAPI, r.said.limit, r.own.limit, r.phrase.limit, limitLines},
		{session.Failed, r.said.failed, r.own.failed, r.phrase.failed, failedLines},
	} {
		line := look.said.line(s.whole)
		if line == "" {
			line = look.own.line(s.turn)
		}
		if line == "" {
			near := last(s.shown, look.lines)
			line = lineAt(near, look.phrase.at(lower(near)))
		}
		if line != "" {
			return session.Reading{Activity: look.activity, Detail: line}
		}
	}
	bottom := last(s.all, 1)
	switch {
	case r.shell.match(bottom) && !r.ui.match(s.whole):
		return session.Reading{Activity: session.Exited, Detail: "a shell has the terminal: " + bottom}
	case r.said.blocked.match(s.whole) || r.own.blocked.match(s.end):
		return session.Reading{Activity: session.Blocked, Detail: r.question(s)}
	case r.said.working.match(s.whole) || r.own.working.match(s.end):
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

// questionLines is how many lines of a dialog are told: the question and its
// answers.
const questionLines = 6

// question is what a person is asked: from the line that matches on, or the end
// of the screen where none does.
func (r *reader) question(s sight) string {
	text := s.end
	at := r.own.blocked.at(text)
	if at < 0 {
		text = last(s.all, len(s.all))
		at = r.said.blocked.at(text)
	}
	if at < 0 {
		return last(s.all, questionLines)
	}
	asked := strings.Split(text[lineStart(text, at):], "\n")
	return strings.Join(asked[:min(len(asked), questionLines)], "\n")
}
