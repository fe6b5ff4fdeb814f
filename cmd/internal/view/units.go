package view

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
)

// Elapsed returns how long something took: 30ms, 0.3s, 1.2s, 12s, 2m5s, 1h3m.
func Elapsed(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 100*time.Millisecond:
		return strconv.Itoa(int(d.Milliseconds())) + "ms"
	case d < 9950*time.Millisecond: // 9.95 would round up to 10.0
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		return strings.TrimPrefix(d.Round(time.Second).String(), "0m")
	}
	return plaintext.Age(d)
}

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
