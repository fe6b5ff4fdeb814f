package agent

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// limitEnds matches the end of a limit, as any agent may print it: "try again at 7:35 AM", "try
// again at Nov 22nd, 2026 7:35 AM", "Access resets at 7:35 AM GMT+2", "resets 3pm".
var limitEnds = regexp.MustCompile(`(?i)(?:try again|resets?)(?: at)? ` +
	`(?:([a-z]{3}) (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?,?(?: at)? )?` +
	`(\d{1,2})(?::(\d\d))? ?([ap])m(?: (?:UTC|GMT)([+-]\d{1,2})?\b)?`)

// limitEnd returns the end of a limit according to its message, or zero. A time of day is the one
// nearest to now, in now's zone unless the message names one.
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

// maxZone is the maximum offset of a zone from UTC, in hours. Times further away cannot be stored.
const maxZone = 14

// moment returns the time in milliseconds since 1970, or zero if it cannot be stored.
func moment(ms int64) time.Time {
	at := time.UnixMilli(ms).UTC()
	if ms < 0 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

// number returns the value of digits; 0 for none.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
