package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// The signals that a reading can come from: the values of Reading.Source. That of
// two that contradict each other is both, joined by a plus.
const (
	FromNative = "native" // the agent's own session file
	FromHook   = "hook"
	FromTitle  = "title"
	FromScreen = "screen"
	FromExit   = "exit"
)

// lag is for how long two signals may differ and mean nothing by it: a title is
// drawn, a line is written and a hook is run some tenths of a second apart, on a
// machine with nothing to spare seconds.
const lag = 10 * time.Second

// statement is what one signal says.
type statement struct {
	session.Reading
	at time.Time // since when; zero: it is so now
}

// statements are what the session file, the hooks and the title say, those that
// say anything, the one to be believed first first.
func (r *reader) statements(e session.Evidence) []statement {
	var all []statement
	for _, source := range r.trust {
		var s statement
		switch source {
		case FromNative:
			s = r.byNative(e)
		case FromHook:
			s = r.byHooks(e)
		case FromTitle:
			s = r.byTitle(e)
		}
		if s.Activity != "" && s.Activity != session.NoActivity {
			s.Source = source
			all = append(all, s)
		}
	}
	if i := slices.IndexFunc(all, func(s statement) bool { return s.Source == FromHook }); i > 0 && all[0].Source == FromNative {
		// It told of something that the session file does not know yet.
		hook := all[i]
		all = slices.Insert(slices.Delete(all, i, i+1), 0, hook)
	}
	return all
}

// byNative is what the session file says of this run: in a conversation that
// goes on, its last line may be of the run before.
func (r *reader) byNative(e session.Evidence) statement {
	n := e.Native
	if n == nil || n.At.Before(e.StartedAt) {
		return statement{}
	}
	return statement{session.Reading{Activity: n.Activity, Detail: n.Detail, Until: n.Until}, n.At}
}

// byHooks is the last thing that a hook told and that means anything, unless the
// session file has told more since: no hook tells of an interruption.
func (r *reader) byHooks(e session.Evidence) statement {
	if r.signal == nil {
		return statement{}
	}
	for _, s := range slices.Backward(e.Signals) {
		if n := e.Native; n != nil && n.Activity != "" && s.At.Before(n.At) {
			break
		}
		if reading, tells := r.signal(s.Data); tells {
			return statement{reading, s.At}
		}
	}
	return statement{}
}

func (r *reader) byTitle(e session.Evidence) statement {
	for _, t := range r.titles {
		if t.form.MatchString(e.Title) {
			return statement{Reading: session.Reading{Activity: t.activity}}
		}
	}
	return statement{}
}

// weigh is the first statement, or, if another one has contradicted it for longer
// than a lag explains, that it is not known.
func weigh(said []statement, now time.Time) session.Reading {
	if len(said) == 0 {
		return session.Reading{Activity: session.NoActivity}
	}
	best := said[0]
	for _, other := range said[1:] {
		since := best.at
		if other.at.After(since) {
			since = other.at
		}
		if contradict(best.Activity, other.Activity) && !since.IsZero() && now.Sub(since) > lag {
			return session.Reading{
				Activity: session.NoActivity,
				Detail:   fmt.Sprintf("its %s says %s, its %s says %s", signalWord(best.Source), best.Activity, signalWord(other.Source), other.Activity),
				Source:   best.Source + "+" + other.Source,
			}
		}
	}
	return best.Reading
}

// contradict reports whether an agent cannot do both: work and rest. A question
// or a limit comes with either, as far as other signals know.
func contradict(a, b session.Activity) bool {
	return works(a) && rests(b) || rests(a) && works(b)
}

func works(a session.Activity) bool { return a == session.Working }

func rests(a session.Activity) bool {
	return a == session.Idle || a == session.Done || a == session.Failed
}

func signalWord(source string) string {
	if source == FromNative {
		return "session file"
	}
	return source
}
