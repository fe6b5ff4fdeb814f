package view

import (
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Waited is the outcome of a wait for one session.
type Waited struct {
	api.Session        // without a state: it no longer exists
	Outcome     string // reached, over, waiting, as of follow.Verdict
}

// WaitedLine writes the state of a session in a wait.
func WaitedLine(w io.Writer, s Style, x Waited, now time.Time) error {
	p := &page{Style: s}
	p.WriteString(p.paint(bold, plaintext.OneLine(string(x.Address))) + ": ")
	if x.State == "" {
		p.line("no longer in the state or the manifest")
	} else {
		p.line(wordAndReason(p, x.Session, now))
	}
	return p.flush(w)
}

// WaitedJSON writes the outcome of a wait as one document.
func WaitedJSON(w io.Writer, all []Waited, goal string, reached, timedOut bool, took time.Duration) error {
	sessions := make([]wire.Object, len(all))
	for i, x := range all {
		sessions[i] = wire.Object{"address", x.Address, "outcome", x.Outcome, "state", x.State, "activity", x.Activity,
			"status", x.Status, "detail", x.Detail, "pr_url", x.PR}
	}
	return document(w, "for", goal, "reached", reached, "timed_out", timedOut, "elapsed_seconds", wire.Seconds(took), "sessions", sessions)
}

// Needy is a session that needs attention.
type Needy struct {
	api.Session
	Priority int
	Reason   string    // as of follow.Reason
	Since    time.Time // as far as known
}

// NeedLine writes why and since when a session needs attention, with the command that answers it.
func NeedLine(w io.Writer, s Style, n Needy, now time.Time) error {
	p := &page{Style: s}
	reason := needReason(n, now)
	if reason != "" {
		reason = ": " + p.paint(noInk, reason)
	}
	p.prose(2, p.paint(needInk(n), needText(n, now)), reason)
	if how := howToAnswer(n.Session); how != "" {
		p.line("  ", p.paint(noInk, how))
	}
	return p.flush(w)
}

// NeedRow writes on one line which session needs attention, why, and since when, cut to the
// terminal.
func NeedRow(w io.Writer, s Style, n Needy, now time.Time) error {
	p := &page{Style: s}
	p.needRow(n, needText(n, now), now)
	return p.flush(w)
}

func (p *page) needRow(n Needy, word string, now time.Time) {
	name, reason := plaintext.OneLine(n.Name)+":", needReason(n, now)
	p.WriteString(p.paint(bold, name) + " " + p.paint(needInk(n), word))
	if reason != "" {
		p.WriteString(": " + p.paint(noInk, p.note(n.Session, name+" "+word+": ", reason)))
	}
	p.line()
}

func needText(n Needy, now time.Time) string {
	return status.NeedText(api.Need{Reason: n.Reason, Since: n.Since}, now)
}

// needReason returns the reason without the word that says what a session needs.
func needReason(n Needy, now time.Time) string {
	reason := strings.TrimPrefix(why(n.Session, now), status.Word(n.Session)+": ")
	return strings.TrimPrefix(strings.TrimPrefix(reason, "asks: "), n.Reason+": ")
}

func needInk(n Needy) ink {
	switch n.Reason {
	case "error", "failed", "branch_mismatch", "unhealthy", "stuck", "verification_failed", "pr_held":
		return red
	case "turn_ended":
		return green
	}
	return yellow
}

// NeedJSON writes a session that needs attention as one document.
func NeedJSON(w io.Writer, n Needy) error { return document(w, n.fields()...) }

// NeedsJSON writes sessions that need attention as one document.
func NeedsJSON(w io.Writer, all []Needy) error {
	needs := make([]wire.Object, len(all))
	for i, n := range all {
		needs[i] = n.fields()
	}
	return document(w, "needs", needs)
}

func (n Needy) fields() wire.Object {
	return wire.Object{"address", n.Address, "reason", n.Reason, "since", wire.UTCOrNil(n.Since), "priority", n.Priority, "session", n.Session}
}

// Finished is a session whose end was waited for.
type Finished struct {
	api.Session
	Elapsed time.Duration // of the waiting
	Turn    bool          // its turn has ended, and its agent lives
	Answer  string        // what the agent said last; empty: it is not known
}

// FinishedLine writes how a session ended, in one line.
func FinishedLine(w io.Writer, s Style, x Finished, now time.Time) error {
	p := &page{Style: s}
	how := ""
	if x.Exit != nil && x.Exit.Cause != session.CauseFailedStart {
		how = " (" + exitStatus(*x.Exit) + ")"
	} else if x.Exit != nil {
		how = ": " + exitWords(*x.Exit, now)
	} else if x.Detail != "" {
		how = ": " + plaintext.OneLine(LocalTimes(x.Detail, now))
	}
	word := paintWord(p, x.Session)
	if x.Turn && !x.Status.Terminal() {
		word = p.paint(green, "turn ended")
	}
	p.line(p.paint(bold, string(x.Address)+":"), " ", word, " after ", plaintext.Elapsed(x.Elapsed), p.paint(noInk, how))
	return p.flush(w)
}

// Waiting shows what a session that is waited for does, in one line that is redrawn.
type Waiting struct {
	last      *api.Session
	since     time.Time // when it began with that
	printedAt time.Time
	region    *Region
}

// reminderInterval is how often an unchanged state is printed where no line can be redrawn.
const reminderInterval = time.Minute

// Show shows it. Where no line can be redrawn it writes one, and again every minute.
func (p *Waiting) Show(w io.Writer, s Style, x api.Session, at time.Time) error {
	if p.last == nil || status.Word(*p.last) != status.Word(x) || p.last.Detail != x.Detail {
		p.since, p.printedAt, p.region = at, time.Time{}, NewRegion(w)
	}
	p.last = &x
	line := waitingLine(s, x, at.Sub(p.since))
	if s.Width > 0 {
		return p.region.Draw(line, s.Width, s.Rows)
	}
	if at.Sub(p.printedAt) < reminderInterval {
		return nil
	}
	p.printedAt = at
	_, err := io.WriteString(w, line)
	return err
}

// waitingLine returns what a session does and for how long. A question comes with how to answer.
func waitingLine(s Style, x api.Session, took time.Duration) string {
	p, name := &page{Style: s}, plaintext.ShellWord(x.Address.Short())
	how := "agentform attach " + name + ", or agentform send " + name + " --key KEY"
	if x.Question != nil {
		how = "agentform answer " + name + " ANSWER, or agentform attach " + name
	}
	p.WriteString(p.paint(bold, string(x.Address)+":") + " ")
	switch long := p.paint(dim, whole(session.Duration(took))); {
	case x.Activity == session.Blocked:
		p.line(p.paint(yellow, "asks"), colon(p, plaintext.OneLine(x.Detail)), " (", p.paint(noInk, how), ")")
	case took < time.Second:
		p.line(wordAndReason(p, x, time.Now()))
	default:
		p.line(paintWord(p, x), " ", long)
	}
	return p.String()
}

// Finished writes how a session ended that was waited for.
func (l *Lines) Finished(x Finished) error {
	return l.write("finished", l.now(), x.Address, "status", x.Status, "state", x.State, "activity", x.Activity,
		"detail", x.Detail, "exit", x.Exit, "turn_ended", x.Turn, "answer", x.Answer)
}
