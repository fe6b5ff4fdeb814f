package view

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// Status writes a table of sessions, details of some, and the totals. Ages are relative to now.
func Status(w io.Writer, s Style, sessions []api.Session, now time.Time) error {
	p := &page{Style: s}
	if len(sessions) == 0 {
		p.line("No sessions.")
		return p.flush(w)
	}
	columns := []column{
		{title: "ADDRESS", min: 24}, {title: "ROLE", spare: 4}, {title: "AGENT", spare: 2}, {title: "STATE"}, {title: "ACTIVITY"},
		{title: "BRANCH", min: 12}, {title: "AGE", right: true, spare: 1}, {title: "RESTARTS", right: true, spare: 3},
	}
	turns := slices.ContainsFunc(sessions, func(x api.Session) bool { return x.Turns != nil })
	if turns {
		columns = append(columns, column{title: "TURNS", right: true, spare: 5}, column{title: "TOKENS", right: true, spare: 6})
	}
	var rows [][]cell
	for _, x := range sessions {
		row := statusRow(x, now)
		if turns {
			row = append(row, cell{text: number(x.Turns)}, cell{text: number(x.Tokens)})
		}
		rows = append(rows, row)
	}
	p.table("", columns, rows)
	p.line()
	writeNotes(p, sessions, now)
	p.line(countStates(p, sessions))
	return p.flush(w)
}

func writeNotes(p *page, sessions []api.Session, now time.Time) {
	told := false
	for _, x := range sessions {
		if x.ID == "" && x.State == session.StatePending && !status.WrongBranch(x) {
			continue // not applied yet: its state says it
		}
		if why := why(x, now); why != "" {
			_, color := stateWord(x)
			p.line(p.paint(color, string(x.Address)+":"), " ", p.paint(noInk, why))
			told = true
		}
	}
	if told {
		p.line()
	}
}

func statusRow(x api.Session, now time.Time) []cell {
	word, color := stateWord(x)
	branch := cell{text: x.Branch}
	if offBranch(x) {
		branch = cell{x.Branch + " !", red}
	}
	return []cell{
		{string(x.Address), bold}, {text: x.Role}, {text: x.Agent},
		{word, color}, {string(x.Activity), activityInk(x.Activity)},
		branch, {text: age(x, now)}, {text: strconv.Itoa(x.Restarts)},
	}
}

// stateWord puts a wrong branch before the state.
func stateWord(x api.Session) (string, ink) {
	if status.WrongBranch(x) {
		return wrongBranch, red
	}
	return string(x.State), stateInk(x.State)
}

const wrongBranch = "wrong branch"

func number[N int | int64](n *N) string {
	switch {
	case n == nil:
		return "-"
	case *n >= 100_000:
		return fmt.Sprintf("%dk", *n/1000)
	}
	return fmt.Sprint(*n)
}

func age(x api.Session, now time.Time) string {
	if x.StartedAt == nil {
		return "-"
	}
	return plaintext.Age(now.Sub(*x.StartedAt))
}

func why(x api.Session, now time.Time) string {
	var parts []string
	if x.BranchFault != "" {
		parts = append(parts, x.BranchFault)
	}
	if x.Detail != "" && x.Detail != string(x.State) && x.Detail != "finished" {
		parts = append(parts, plaintext.OneLine(LocalTimes(x.Detail, now)))
	}
	if o := x.Override; o != nil {
		parts = append(parts, fmt.Sprintf("%s by %s %s ago", o.Desired, o.By, plaintext.Age(now.Sub(o.At))))
	}
	return strings.Join(parts, "; ")
}

// states puts what needs a person first.
var states = []session.State{
	session.StateError, session.StateStale, session.StateUnknown, session.StatePending,
	session.StateStarting, session.StatePaused, session.StateStopped, session.StateRunning,
}

func countStates(p *page, sessions []api.Session) string {
	wrong, counts := status.WrongBranches(sessions), map[session.State]int{}
	for _, x := range sessions {
		if !status.WrongBranch(x) {
			counts[x.State]++
		}
	}
	numbers := paintCounts(p, counts)
	if wrong > 0 {
		numbers = strings.TrimSuffix(p.paint(red, fmt.Sprintf("%d %s", wrong, wrongBranch))+", "+numbers, ", ")
	}
	return numbers
}

func paintCounts(p *page, counts map[session.State]int) string {
	var parts []string
	for _, s := range states {
		if n := counts[s]; n > 0 {
			parts = append(parts, p.paint(stateInk(s), fmt.Sprintf("%d %s", n, s)))
		}
	}
	return strings.Join(parts, ", ")
}

var stateInks = map[session.State]ink{
	session.StateRunning: green, session.StateStale: yellow, session.StateUnknown: yellow,
	session.StateError: red, session.StatePaused: blue, session.StateStarting: cyan,
}

func stateInk(s session.State) ink {
	return cmp.Or(stateInks[s], dim)
}

func activityInk(a session.Activity) ink {
	switch {
	case a == session.Failed:
		return red
	case slices.Contains([]session.Activity{session.Blocked, session.BlockedAPI, session.Exited}, a):
		return yellow
	}
	return noInk
}
