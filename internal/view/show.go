package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/session"
)

// Shown is one session in full, as show and status ADDRESS tell it.
type Shown struct {
	Session
	Record *session.Record // nil: not on record
	Exit   *session.Exit   // how the last run ended; nil: it has not, or is not known
	Events []history.Event // the last ones, the oldest first
	Screen string          // the end of it
}

// Show writes one session in full: what it is and does, its ids, its last
// events, the end of its screen, and the commands to look at it by hand.
func Show(w io.Writer, s Style, x Shown, now time.Time) error {
	p := &page{Style: s}
	word, color := x.stateWord()
	p.line(p.paint(bold, string(x.Address)), "  ", p.paint(color, word),
		", ", p.paint(activityInk(x.Activity), string(x.Activity)))
	if why := x.why(now); why != "" {
		p.line(p.paint(noInk, why))
	}
	p.line()
	p.aligned("  ", x.facts(now))
	if len(x.Events) > 0 {
		p.heading("Last events")
		p.events(x.Events, now.Location(), false)
	}
	if screen, cut := Tail(Safe(strings.TrimRight(x.Screen, " \t\r\n"))); screen != "" {
		title := "Screen"
		if cut {
			title += " (its last " + Bytes(session.TailLimit) + ")"
		}
		p.heading(title)
		for l := range strings.SplitSeq(screen, "\n") {
			p.line(strings.TrimRight("  "+p.paint(dim, "│")+" "+l, " ")) // as it is: its paths are the agent's own
		}
	}
	if look := x.lookByHand(); len(look) > 0 {
		p.heading("To look by hand")
		for _, l := range look {
			p.line("  ", p.paint(noInk, l))
		}
	}
	return p.flush(w)
}

func (p *page) heading(title string) {
	p.line()
	p.line(p.paint(bold, title))
}

// facts is a session's properties, those that it has.
func (x Shown) facts(now time.Time) []attribute {
	var all []attribute
	add := func(name, value string) {
		if value != "" {
			all = append(all, attribute{name, oneLine(value)})
		}
	}
	add("role", x.Role)
	add("agent", x.Agent)
	add("desired", string(x.Desired))
	branch := x.Branch
	if x.BranchFault != "" {
		branch += "  ! " + x.BranchFault
	}
	add("branch", branch)
	add("workspace", x.Workspace)
	add("runtime", x.Runtime)
	if x.StartedAt != nil {
		add("started", clock(*x.StartedAt, now)+" ("+x.age(now)+" ago)")
	}
	if x.FirstTurnAt != nil {
		add("first turn", clock(*x.FirstTurnAt, now))
	}
	if x.Turns != nil {
		add("turns", fmt.Sprint(*x.Turns))
	}
	if x.Tokens != nil {
		add("tokens", fmt.Sprint(*x.Tokens))
	}
	if x.Until != nil {
		add("limited until", clock(*x.Until, now))
	}
	add("restarts", fmt.Sprint(x.Restarts)+x.policy())
	add("health", x.Health)
	if x.Exit != nil {
		add("last exit", exitWords(*x.Exit, now))
	}
	add("pull request", x.PR)
	add("origin", string(x.Origin))
	if r := x.Record; r != nil {
		add("trouble", r.Trouble)
		add("under way", string(r.Intent))
	}
	add("id", x.ID)
	if x.Record != nil {
		add("run", x.Record.Run.ID)
	}
	if x.PID != nil {
		add("pid", fmt.Sprint(*x.PID))
	}
	add("pane", x.PaneID)
	add("container", x.Container)
	add("conversation", x.ConversationID)
	add("transcript", x.Transcripts.Screen)
	add("session file", x.Transcripts.Native)
	return all
}

// policy is how often the supervisor restarts the session by itself.
func (x Shown) policy() string {
	if x.Record == nil {
		return ""
	}
	r := x.Record.Spec.Restart
	if r.Policy == "never" || r.Attempts == 0 {
		return " (never by itself)"
	}
	return fmt.Sprintf(" (by itself %s, %d in %s)", strings.ReplaceAll(r.Policy, "-", " "), r.Attempts, Age(r.Window.D()))
}

// exitWords is how a run ended: exit status 1 after 3m, at 12:00:05.
func exitWords(e session.Exit, now time.Time) string {
	how := fmt.Sprintf("exit status %d", e.Code)
	if e.Signal != "" {
		how = "ended by " + e.Signal
	}
	switch e.Cause {
	case "requested":
		how = "stopped, " + how
	case "timeout":
		how = "timeout, " + how
	case "hangup":
		how = "terminal hung up, " + how
	case "failed_start":
		how = "could not be started: " + oneLine(e.Detail)
	}
	if e.Ran > 0 {
		how += " after " + Elapsed(e.Ran.D())
	}
	if !e.At.IsZero() {
		how += ", at " + clock(e.At, now)
	}
	if e.Leftovers > 0 {
		how += fmt.Sprintf(" (%d processes left behind, ended)", e.Leftovers)
	}
	return how
}

// lookByHand is the commands with which a person looks into a session without
// agentform.
func (x Shown) lookByHand() []string {
	if x.Record == nil || x.Record.Place.Name == "" || x.State == session.StateStopped || x.State == session.StateError {
		return nil
	}
	place := x.Record.Place
	prefix := "tmux"
	if place.Container != "" {
		prefix = "docker exec -it " + Shell(place.Container) + " tmux"
	}
	if place.Socket != "" {
		prefix += " -S " + Shell(place.Socket)
	}
	if place.Container != "" && place.Socket == "" {
		// Adopted: the place is named after the container, and its tmux has one session,
		// called as its maker liked.
		return []string{prefix + " attach", prefix + " capture-pane -p"}
	}
	return []string{
		prefix + " attach -t " + Shell("="+place.Name),
		prefix + " capture-pane -p -t " + Shell("="+place.Name+":"),
	}
}

// Shell returns a text as one word of a shell's command line. A word that begins with
// = is quoted as well: zsh would take it for the path of a command.
func Shell(s string) string {
	plain := s != "" && s[0] != '=' && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:,@%=", r))
	})
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
