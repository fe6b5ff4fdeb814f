package plaintext

import (
	"strconv"
	"strings"
	"time"
)

// Age returns a duration in its two largest units: 12s, 3m, 2h5m, 4d3h.
func Age(d time.Duration) string {
	d = max(d, 0)
	days, hours, minutes := int(d/(24*time.Hour)), int(d/time.Hour)%24, int(d/time.Minute)%60
	two := func(a int, unit string, b int, second string) string {
		if b == 0 {
			return strconv.Itoa(a) + unit
		}
		return strconv.Itoa(a) + unit + strconv.Itoa(b) + second
	}
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(minutes) + "m"
	case d < 24*time.Hour:
		return two(hours, "h", minutes, "m")
	}
	return two(days, "d", hours, "h")
}

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
	return Age(d)
}
