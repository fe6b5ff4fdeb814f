// Package budget decides which sessions are held because they used more than a budget
// allows. It is pure: the hub gives it what sessions used, and carries out what it says.
package budget

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// What happens to a session over its budget.
const (
	Notify = "notify" // only notifies
	Pause  = "pause"
	Stop   = "stop" // after the turn
)

// The periods in which a budget counts.
const (
	PerRun  = "run"
	PerDay  = "day"
	PerWeek = "week" // from Monday
	Total   = "total"
)

// Budget limits what sessions use.
type Budget struct {
	Name string `json:"name"`
	// Sessions are blocks or instances, and Agent is the name of an agent: a session of
	// either is meant. Neither: all are.
	Sessions []session.Address `json:"sessions,omitempty"`
	Agent    string            `json:"agent,omitempty"`
	// Except are sessions of the agent with a budget of the same name of their own.
	Except []session.Address `json:"except,omitempty"`
	Each   bool              `json:"each,omitempty"` // it counts for each session alone

	Tokens int64            `json:"tokens,omitempty"` // 0: no limit
	Cost   float64          `json:"cost,omitempty"`   // in USD, of list prices; 0: no limit
	Time   session.Duration `json:"time,omitempty"`   // of work; 0: no limit

	Per        string  `json:"per"`
	Zone       string  `json:"zone,omitempty"` // in which days and weeks begin; empty: the hub's
	WarnAt     float64 `json:"warn_at"`        // the share of the limit that is warned at; 1: no warning
	OnExceeded string  `json:"on_exceeded"`
}

// Means reports whether the budget counts what a session uses.
func (b Budget) Means(a session.Address, agent string) bool {
	switch {
	case slices.ContainsFunc(b.Except, a.Within):
		return false
	case slices.ContainsFunc(b.Sessions, a.Within):
		return true
	}
	return b.Agent == "" && len(b.Sessions) == 0 || b.Agent != "" && b.Agent == agent
}

// Period returns when the period of a moment began and ends. The zero times are those of
// a period without them.
func (b Budget) Period(now time.Time) (begin, end time.Time) {
	zone := time.Local
	if b.Zone != "" {
		if z, err := time.LoadLocation(b.Zone); err == nil { // else it was there when the manifest was read
			zone = z
		}
	}
	days := 1
	y, m, d := now.In(zone).Date()
	switch b.Per {
	case PerWeek:
		days = 7
		d -= (int(now.In(zone).Weekday()) + 6) % 7
	case PerDay:
	default:
		return time.Time{}, time.Time{}
	}
	return beginOfDay(y, m, d, zone), beginOfDay(y, m, d+days, zone)
}

// beginOfDay returns the first moment of a day. In some zones clocks are set at midnight:
// there is then none on that day, or there are two.
func beginOfDay(y int, m time.Month, d int, zone *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, zone)
	since, until := t.ZoneBounds()
	if t.Hour() == 23 { // of the day before: clocks go from there to 1:00
		return until
	}
	if t.Equal(since) { // clocks went to midnight, maybe back to it
		_, now := t.Zone()
		_, before := since.Add(-1).Zone()
		if before > now {
			return t.Add(-time.Duration(before-now) * time.Second)
		}
	}
	return t
}

// Share returns the used part of the budget, for its most used limit: 1 is all of it.
func (b Budget) Share(used usage.Sum) float64 {
	share := 0.0
	if b.Tokens > 0 {
		share = float64(used.Tokens.Total()) / float64(b.Tokens)
	}
	if b.Cost > 0 {
		share = max(share, used.Cost/b.Cost)
	}
	if b.Time > 0 {
		share = max(share, float64(used.Worked)/float64(b.Time))
	}
	return share
}

// Text returns what was used of each limit, for people.
func (b Budget) Text(used usage.Sum) string {
	var parts []string
	if b.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s tokens", plaintext.Thousands(used.Tokens.Total()), plaintext.Thousands(b.Tokens)))
	}
	if b.Cost > 0 {
		text := plaintext.Dollars(used.Cost) + " of " + plaintext.Dollars(b.Cost)
		if used.Unpriced > 0 {
			text += fmt.Sprintf(" (without %s tokens that have no price)", plaintext.Thousands(used.Unpriced))
		}
		parts = append(parts, text)
	}
	if b.Time > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s of work", plaintext.Age(used.Worked), plaintext.Age(b.Time.D())))
	}
	return strings.Join(parts, ", ")
}
