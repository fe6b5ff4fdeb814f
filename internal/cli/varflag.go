package cli

import (
	"errors"
	"strings"

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
