package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/agentform/agentform/session"
)

// The signals that a detection can come from: the values of Detection.Source. For two that
// contradict each other, the value is both, joined by a plus.
const (
	FromTranscript = "native" // the agent's own session file
	FromHook       = "hook"
	FromTitle      = "title"
	FromScreen     = "screen"
	FromExit       = "exit"
)

// lag is how far apart two signals may be: on a busy machine, drawing a title, writing a line and
// running a hook differ by seconds.
const lag = 10 * time.Second

// signals reads an agent's reports other than the screen.
type signals struct {
	titles []titlePattern
	hook   func(data []byte) (session.Detection, bool) // kind.signal
	trust  []string                                    // kind.trust
}

type titlePattern struct {
	*regexp.Regexp
	activity session.Activity
}

func newSignals(k kind) signals {
	s := signals{hook: k.signal, trust: k.trust}
	if len(s.trust) == 0 {
		s.trust = []string{FromTranscript, FromHook, FromTitle}
	}
	for _, t := range k.marks.titles {
		s.titles = append(s.titles, titlePattern{regexp.MustCompile(t.pattern), t.activity})
	}
	return s
}

// statement is the report of one signal.
type statement struct {
	session.Detection
	at time.Time // start of the activity; zero: it is current
}

// statements returns the statements of the session file, the hooks and the title, the most trusted
// first.
func (r signals) statements(e session.Evidence) []statement {
	var all []statement
	for _, source := range r.trust {
		var s statement
		switch source {
		case FromTranscript:
			s = fileStatement(e)
		case FromHook:
			s = r.hookStatement(e)
		case FromTitle:
			s = r.titleStatement(e.Title)
		}
		if s.Activity != "" && s.Activity != session.NoActivity {
			s.Source = source
			all = append(all, s)
		}
	}
	if i := slices.IndexFunc(all, func(s statement) bool { return s.Source == FromHook }); i > 0 && all[0].Source == FromTranscript {
		// The hook is newer than the session file.
		hook := all[i]
		all = slices.Insert(slices.Delete(all, i, i+1), 0, hook)
	}
	return all
}

// fileStatement returns the session file's statement about this run: the last line of a resumed
// conversation may be of the run before.
func fileStatement(e session.Evidence) statement {
	n := e.Transcript
	if n == nil || n.At.Before(e.StartedAt) {
		return statement{}
	}
	return statement{session.Detection{Activity: n.Activity, Detail: n.Detail, Until: n.Until, Refused: !n.RefusedAt.IsZero()}, n.At}
}

// hookStatement returns the last hook report with a meaning, unless the session file is newer: no
// hook reports an interruption.
func (r signals) hookStatement(e session.Evidence) statement {
	var since time.Time
	if n := e.Transcript; n != nil && n.Activity != "" {
		since = n.At
	}
	return r.lastHook(e, since)
}

// lastHook returns the last hook report with a meaning that is not older than since.
func (r signals) lastHook(e session.Evidence, since time.Time) statement {
	if r.hook == nil {
		return statement{}
	}
	for _, s := range slices.Backward(e.Signals) {
		if s.At.Before(since) {
			break
		}
		if detection, ok := r.hook(s.Data); ok {
			return statement{detection, s.At}
		}
	}
	return statement{}
}

func (r signals) titleStatement(title string) statement {
	for _, t := range r.titles {
		if t.MatchString(title) {
			return statement{Detection: session.Detection{Activity: t.activity}}
		}
	}
	return statement{}
}

// Message returns the user's message that starts a turn, as reported by a hook. When the agent
// starts, the text is empty and told is true: its hooks will report each message.
func (p *program) Message(signal []byte) (text string, told bool) {
	var s struct {
		Event  string `json:"hook_event_name"`
		Prompt string `json:"prompt"`
	}
	if json.Unmarshal(signal, &s) != nil {
		return "", false
	}
	switch s.Event {
	case "SessionStart":
		return "", true
	case "UserPromptSubmit", "BeforeAgent":
		return s.Prompt, s.Prompt != ""
	}
	return "", false
}

// weigh returns the first statement, or unknown if another one has contradicted it for longer than
// lag.
func weigh(said []statement, now time.Time) session.Detection {
	if len(said) == 0 {
		return session.Detection{Activity: session.NoActivity}
	}
	best := said[0]
	for _, other := range said[1:] {
		since := best.at
		if other.at.After(since) {
			since = other.at
		}
		if contradict(best.Activity, other.Activity) && !since.IsZero() && now.Sub(since) > lag {
			return session.Detection{
				Activity: session.NoActivity,
				Detail:   fmt.Sprintf("its %s says %s, its %s says %s", signalWord(best.Source), best.Activity, signalWord(other.Source), other.Activity),
				Source:   best.Source + "+" + other.Source,
			}
		}
	}
	return best.Detection
}

// contradict reports whether one activity is work and the other rest. A question or a limit is
// compatible with both.
func contradict(a, b session.Activity) bool {
	return a == session.Working && rests(b) || rests(a) && b == session.Working
}

func rests(a session.Activity) bool {
	return a == session.Idle || a == session.Done || a == session.Failed
}

func signalWord(source string) string {
	if source == FromTranscript {
		return "session file"
	}
	return source
}
