package expr

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

var (
	days   = regexp.MustCompile(`^(\d+(?:\.\d+)?)d(.*)$`)
	number = regexp.MustCompile(`^\d+(?:\.\d+)?$`)
)

// ParseDuration parses Go's notation, with days of 24 hours first: "30d", "1d12h".
func ParseDuration(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	if number.MatchString(text) && strings.Trim(text, "0.") != "" {
		return 0, fmt.Errorf("%q has no unit, use %q for seconds (units: ms, s, m, h, d)", s, text+"s")
	}
	var whole time.Duration
	if m := days.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil || n*float64(day) > math.MaxInt64/2 {
			return 0, fmt.Errorf("%q is too long", s)
		}
		whole = time.Duration(n * float64(day))
		if text = m[2]; text == "" {
			return whole, nil
		}
	}
	rest, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf(`%q is not a duration, use "90s", "15m", "4h" or "30d"`, s)
	}
	if rest < 0 {
		return 0, fmt.Errorf("%q is negative", s)
	}
	if whole > 0 && rest > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is too long", s)
	}
	return whole + rest, nil
}
