package agent

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// limitEnds is how the agents say when a limit ends: "try again at 7:35 AM", "try
// again at Nov 22nd, 2026 7:35 AM" (Codex), "Access resets at 7:35 AM GMT+2"
// (Gemini), "resets 3pm".
var limitEnds = regexp.MustCompile(`(?i)(?:try again|resets?)(?: at)? ` +
	`(?:([a-z]{3}) (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?,?(?: at)? )?` +
	`(\d{1,2})(?::(\d\d))? ?([ap])m(?: (?:UTC|GMT)([+-]\d{1,2})?\b)?`)

// limitEnd is when a limit ends by what is said of it; zero: it is not said. A
// time of day is that one which is nearest to now, and of now's zone unless
// another is said: an agent in a container may mean its own.
func limitEnd(said string, now time.Time) time.Time {
	m := limitEnds.FindStringSubmatch(strings.Join(strings.Fields(said), " "))
	if m == nil {
		return time.Time{}
	}
	zone := now.Location()
	if strings.Contains(m[0], "UTC") || strings.Contains(m[0], "GMT") {
		hours := number(m[7])
		if hours < -maxZone || hours > maxZone {
			return time.Time{}
		}
		zone = time.FixedZone("", hours*3600)
	}
	now = now.In(zone)
	hour := number(m[4]) % 12
	if strings.EqualFold(m[6], "p") {
		hour += 12
	}
	year, month, day := now.Date()
	if m[1] != "" {
		named, err := time.Parse("Jan", strings.ToUpper(m[1][:1])+strings.ToLower(m[1][1:]))
		if err != nil {
			return time.Time{}
		}
		month, day = named.Month(), number(m[2])
		if m[3] != "" {
			year = number(m[3])
		}
	}
	at := time.Date(year, month, day, hour, number(m[5]), 0, 0, zone)
	const half = 12 * time.Hour
	switch away := at.Sub(now); {
	case m[1] != "":
	case away > half:
		at = at.AddDate(0, 0, -1)
	case away <= -half:
		at = at.AddDate(0, 0, 1)
	}
	return at
}

// maxZone is how many hours a clock on earth can be off UTC. Times of a zone a day
// away, and of years of five digits, cannot be stored.
const maxZone = 14

// moment is the time so many milliseconds after 1970, as an agent's file has it;
// zero: not a time that can be stored.
func moment(ms int64) time.Time {
	at := time.UnixMilli(ms).UTC()
	if ms < 0 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

// number is what digits with or without a sign say; 0 for none.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
