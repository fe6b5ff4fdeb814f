package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/agentform/agentform/config"
)

// varFlag is --var and --var-file: both append to one list, because the order
// in which they are given decides.
type varFlag struct {
	into *[]config.Var
	file bool
}

// Set appends one value of the flag.
func (v *varFlag) Set(s string) error {
	if v.file {
		*v.into = append(*v.into, config.Var{File: s})
		return nil
	}
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("want NAME=VALUE")
	}
	*v.into = append(*v.into, config.Var{Name: name, Value: value})
	return nil
}

// String is empty: there is no default to show.
func (v *varFlag) String() string { return "" }

// Type is what the help calls the value.
func (v *varFlag) Type() string { return "stringArray" }

// labelFlag is --label: each one adds to a map.
type labelFlag struct{ into *map[string]string }

// Set adds one label.
func (l *labelFlag) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return errors.New("want KEY=VALUE")
	}
	if *l.into == nil {
		*l.into = map[string]string{}
	}
	(*l.into)[key] = value
	return nil
}

// String is empty: there is no default to show.
func (l *labelFlag) String() string { return "" }

// Type is what the help calls the value.
func (l *labelFlag) Type() string { return "stringToString" }

// durationFlag is a flag with a length of time: 90s, 1h30m, or a plain number of
// seconds.
type durationFlag time.Duration

// Set parses a value of the flag.
func (d *durationFlag) Set(s string) error {
	value, err := time.ParseDuration(s)
	if err != nil {
		seconds, notNumber := strconv.ParseFloat(s, 64)
		if notNumber != nil || !(math.Abs(seconds) < math.MaxInt64/float64(time.Second)) { // NaN is not less, either
			return errors.New("expected a duration, such as 90s or 10m, or a number of seconds")
		}
		value = time.Duration(seconds * float64(time.Second))
	}
	*d = durationFlag(value)
	return nil
}

// String returns the value as Go writes it. Zero is empty, which the help does not show
// as a default.
func (d *durationFlag) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type returns what the help calls the value.
func (d *durationFlag) Type() string { return "duration" }

// durationVar defines a flag with a length of time.
func durationVar(flags *pflag.FlagSet, into *time.Duration, name string, value time.Duration, usage string) {
	*into = value
	flags.Var((*durationFlag)(into), name, usage)
}
