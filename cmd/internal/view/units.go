package view

import (
	"regexp"
	"strings"
	"sync"
	"time"
)

var utcTime = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z\b`)
})

// LocalTimes replaces the RFC 3339 times in a text by local times.
func LocalTimes(text string, now time.Time) string {
	if !strings.Contains(text, "Z") {
		return text
	}
	return utcTime().ReplaceAllStringFunc(text, func(s string) string {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			return s
		}
		return clock(t, now)
	})
}

// clock omits the date of now.
func clock(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
