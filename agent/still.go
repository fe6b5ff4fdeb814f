package agent

import (
	"regexp"
	"strings"
)

// ticks match what changes on a screen while an agent waits for its model: spinners, timers and
// token counters. tickers match lines that consist only of those, with random words.
var (
	ticks = regexp.MustCompile(`[\x{2800}-\x{28ff}✢✽✻✶✳·•◦]|(^|\s)[|/\\-](\s|$)|\b\.{1,3}$` +
		`|\b(\d+(\.\d+)?\s*(ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\s*)+\b|\b\d+:\d\d(:\d\d)?(\.\d+)?\b` +
		`|[↑↓]?\s*\d[\d.,]*[kKM]?\s+tokens\b|\b[Tt]okens:?\s+\d[\d.,]*[kKM]?\b`)
	tickers = regexp.MustCompile(`^([\x{2800}-\x{28ff}✢✽✻✶✳·•◦*] .*(…|\.\.\.|esc to )|(⎿\s+)?Tip: )`)
)

// Still returns a screen without these changes. If two screens are then equal, the agent did
// nothing between them.
func Still(screen string) string {
	var b strings.Builder
	for line := range strings.Lines(screen) {
		if line = unframed(line); line != "" && !tickers.MatchString(line) {
			b.WriteString(strings.Join(strings.Fields(ticks.ReplaceAllString(line, "")), " ") + "\n")
		}
	}
	return b.String()
}
