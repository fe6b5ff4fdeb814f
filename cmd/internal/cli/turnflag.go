package cli

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
)

// turnFlag is --after-turn[=LIMIT]: running turns may end first, for at most the
// limit; without one as the manifest says.
type turnFlag struct {
	given *bool
	limit *time.Duration
}

// addTurnFlag adds the flag to a command.
func addTurnFlag(flags *pflag.FlagSet, given *bool, limit *time.Duration) {
	flags.Var(turnFlag{given, limit}, "after-turn", "let a running turn end first, for at most this `time` (--after-turn=30m; default: the manifest's after_turn, or 5m)")
	flags.Lookup("after-turn").NoOptDefVal = "true"
}

// Set takes true, false or a length of time.
func (f turnFlag) Set(s string) error {
	switch s {
	case "true", "false":
		*f.given = s == "true"
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("must be a length of time above 0, such as 30m")
	}
	*f.given, *f.limit = true, d
	return nil
}

// String is empty: the help names the default.
func (f turnFlag) String() string { return "" }

// Type is what the help calls the value.
func (f turnFlag) Type() string { return "duration" }
