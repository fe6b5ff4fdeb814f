package view

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Show writes one session in full.
func Show(w io.Writer, s Style, x status.Detail, now time.Time) error {
	p := &page{Style: s}
	p.line(p.paint(bold, string(x.Address)), "  ", p.paint(wordInk(x.Session), status.Text(x.Session, now)))
	if why := why(x.Session, now); why != "" {
		p.prose(2, p.paint(noInk, why))
	}
	if how := howToAnswer(x.Session); how != "" {
		p.prose(2, unbrokenCommand(p.paint(noInk, how)))
	}
	p.line()
	p.aligned("  ", facts(x, now))
	if len(x.Events) > 0 {
		p.heading("Last events")
		writeEvents(p, x.Events, now.Location(), false)
	}
	if screen, cut := wire.Tail(plaintext.Safe(strings.TrimRight(x.Screen, " \t\r\n"))); screen != "" {
		title := "Screen"
		if cut {
			title += " (its last " + plaintext.Bytes(session.TailLimit) + ")"
		}
		p.heading(title)
		for l := range strings.SplitSeq(screen, "\n") {
			p.line(strings.TrimRight("  "+p.paint(dim, "│")+" "+l, " ")) // unchanged: its paths are the agent's own
		}
	}
	if look := x.Commands(); len(look) > 0 {
		p.heading("tmux commands")
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

func facts(x status.Detail, now time.Time) []attribute {
	var all []attribute
	add := func(name, value string) {
		if value != "" {
			all = append(all, attribute{path: name, value: plaintext.OneLine(value)})
		}
	}
	at := func(name string, t *time.Time, more string) {
		if t != nil {
			add(name, clock(*t, now)+more)
		}
	}
	branch := x.Branch
	if x.BranchFault != "" {
		branch += "  ! " + x.BranchFault
	}
	add("role", x.Role)
	agent := x.Agent
	if f := x.Fallback; f != nil {
		agent += " instead of " + f.Instead + ", since " + clock(f.Since, now) + " (its quota resets " + clock(f.Until, now) + ")"
	}
	add("agent", agent)
	add("desired", string(x.Desired))
	add("state", string(x.State))
	add("activity", string(x.Activity))
	add("branch", branch)
	add("workspace", x.Workspace)
	if c := x.Changes; c != nil {
		add("changes", changed(c)+" (against "+cmp.Or(c.Base, "HEAD")+", at "+clock(c.CountedAt, now)+")")
		if c.Behind > 0 || c.FetchedAt != nil {
			fetched := ""
			if c.FetchedAt != nil {
				fetched = ", fetched " + since(*c.FetchedAt, now)
			}
			add("behind", plaintext.Count(c.Behind, "commit")+" of "+cmp.Or(c.Base, "HEAD")+fetched)
		}
	}
	for _, c := range *cmp.Or(x.Conflicts, &[]api.Conflict{}) {
		add("conflicts", "with "+cmp.Or(c.Base, string(c.With))+" in "+few(c.Files, 2))
	}
	add("runtime", x.Runtime)
	at("started", x.StartedAt, " ("+age(x.Session, now)+" ago)")
	at("first turn", x.FirstTurnAt, "")
	add("turns", printed(x.Turns))
	add("tokens", tokensOf(x.Session))
	if x.Usage != nil {
		add("cost", cost(x.Usage)+" (list price)")
	}
	add("limits", limits(x.Session, now))
	at("limited until", x.Until, "")
	if o := x.OverBudget; o != nil {
		add("over budget", o.String())
		if !o.Until.IsZero() {
			at("held until", &o.Until, "")
		}
	}
	add("restarts", fmt.Sprint(x.Restarts)+policy(x))
	add("health", x.Health)
	if x.Exit != nil {
		add("last exit", exitWords(*x.Exit, now))
	}
	if v := x.Verified; v != nil {
		add("verified", verification(*v, now))
		add("verify log", v.Log)
	}
	add("pull request", pullRequest(x))
	add("origin", string(x.Origin))
	r := cmp.Or(x.Record, &session.Record{})
	add("last error", r.LastError)
	add("in progress", string(r.Intent))
	add("id", x.ID)
	add("run", r.Run.ID)
	add("pid", printed(x.PID))
	add("pane", x.PaneID)
	add("container", x.Container)
	add("conversation", x.ConversationID)
	add("transcript", x.Transcripts.Screen)
	add("session file", x.Transcripts.Native)
	return all
}

// verification returns the outcome of a verification: yes, 9fd6338 at 09:24.
func verification(v api.Verified, now time.Time) string {
	word, why := "yes", ""
	if !v.OK {
		word, why = "no", ": "+v.Detail
	}
	if v.Round > 0 {
		word += fmt.Sprintf(" (%d/%d)", v.Round, v.Rounds)
	}
	return word + ", " + v.Commit[:min(7, len(v.Commit))] + " at " + clock(v.At, now) + why
}

// pullRequest returns the address of a session's pull request, with its state:
// https://github.com/shop/api/pull/12 (open, checks failed, 2 reviews, sent 1/3).
func pullRequest(x status.Detail) string {
	p := x.Pull
	if p == nil || p.Number == 0 {
		return x.PR
	}
	return p.URL + " (" + requested(p) + ")"
}

// requested describes the state of a pull request.
func requested(p *api.PullRequest) string {
	words := string(p.State)
	if p.Checks != "" {
		words += ", checks " + string(p.Checks)
	}
	if p.Reviews > 0 {
		words += ", " + plaintext.Count(p.Reviews, "review")
	}
	if p.Round > 0 {
		words += fmt.Sprintf(", sent %d/%d", p.Round, p.Rounds)
	}
	return words
}

// tokensOf returns the numbers of tokens of a session, by kind.
func tokensOf(x api.Session) string {
	u := x.Usage
	if u == nil {
		return printed(x.Tokens)
	}
	return fmt.Sprintf("%s (%s input, %s read from a cache, %s written to one, %s output)", plaintext.Thousands(u.Total),
		plaintext.Thousands(u.Input), plaintext.Thousands(u.CacheRead), plaintext.Thousands(u.CacheWrite+u.CacheWrite1h), plaintext.Thousands(u.Output))
}

func printed[N int | int64](n *N) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

func policy(x status.Detail) string {
	if x.Record == nil {
		return ""
	}
	r := x.Record.Spec.Restart
	if r.Policy == "never" || r.Attempts == 0 {
		return " (never)"
	}
	return fmt.Sprintf(" (%s, at most %d in %s)", r.Policy, r.Attempts, plaintext.Age(r.Window.D()))
}

func exitWords(e session.Exit, now time.Time) string {
	how := "exited"
	switch {
	case e.Cause == session.CauseFailedStart:
		how = "could not be started: " + plaintext.OneLine(e.Detail)
	case e.Cause == session.CauseRequested:
		how = "stopped"
	case e.Cause == session.CauseTimeout:
		how = "stopped at its timeout"
	case e.Cause == session.CauseHangup:
		how = "terminal hung up"
	case e.Signal != "":
		how = "killed"
	}
	if e.Ran > 0 {
		how += " after " + plaintext.Elapsed(e.Ran.D())
	}
	if e.Cause != session.CauseFailedStart {
		how += " (" + exitStatus(e) + ")"
	}
	if !e.At.IsZero() {
		how += ", at " + clock(e.At, now)
	}
	if e.Leftovers > 0 {
		how += fmt.Sprintf("; leftover processes killed: %d", e.Leftovers)
	}
	return how
}

func exitStatus(e session.Exit) string { return cmp.Or(e.Signal, fmt.Sprintf("status %d", e.Code)) }
