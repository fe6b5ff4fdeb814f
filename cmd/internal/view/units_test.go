package view

import (
	"testing"
	"time"
)

func TestLocalTimes(t *testing.T) {
	zone := time.FixedZone("EST", -5*3600)
	now := time.Date(2026, 11, 22, 0, 30, 0, 0, zone)
	for in, want := range map[string]string{
		"stopped by dev at 2026-11-22T05:29:48Z, wanted": "stopped by dev at 00:29:48, wanted",
		"since 2026-11-22T04:29:48.25Z":                  "since 2026-11-21 23:29:48",
		"2026-99-22T04:29:48Z":                           "2026-99-22T04:29:48Z",
		"a2026-11-22T04:29:48Zb":                         "a2026-11-22T04:29:48Zb",
		"no time, Z":                                     "no time, Z",
	} {
		if got := LocalTimes(in, now); got != want {
			t.Errorf("LocalTimes(%q) = %q, want %q", in, got, want)
		}
	}
}
