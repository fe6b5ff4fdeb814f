// Package flags parses command lines in the styles of Terraform, GNU programs and bash.
package flags

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agext/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/config/expr"
)

// Error returns the error for a flag that cannot be parsed, with a suggestion.
func Error(c *cobra.Command, err error) error {
	if unknown, is := errors.AsType[*pflag.NotExistError](err); is {
		typed := unknown.GetSpecifiedName()
		if all := unknown.GetSpecifiedShortnames(); all != "" {
			typed, _, _ = strings.Cut(all, "=") // -colour is parsed as the shorthands c, o, l, …
		}
		if near := nearestFlag(c, typed); near != "" {
			err = fmt.Errorf("%w. Did you mean --%s?", err, near)
		}
	}
	return exit.Usage(c.CommandPath(), err)
}

func nearestFlag(c *cobra.Command, typed string) string {
	if len(typed) < 3 {
		return ""
	}
	best, least := "", 1+len(typed)/4 // edits; more means another word
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := levenshtein.Distance(f.Name, strings.ToLower(typed), nil); !f.Hidden && d <= least && (best == "" || d < least) {
			best, least = f.Name, d
		}
	})
	return best
}

// DoubleDashed accepts -auto-approve, as Terraform does. Only complete names count: -fx is --file
// x.
func DoubleDashed(root *cobra.Command, args []string) []string {
	known := map[string]bool{} // --name and -n, of all commands; true: one of them takes a value
	var collect func(c *cobra.Command)
	collect = func(c *cobra.Command) {
		add := func(f *pflag.Flag) {
			known["--"+f.Name] = known["--"+f.Name] || f.NoOptDefVal == ""
			if f.Shorthand != "" {
				known["-"+f.Shorthand] = known["-"+f.Shorthand] || f.NoOptDefVal == ""
			}
		}
		c.Flags().VisitAll(add)
		c.PersistentFlags().VisitAll(add)
		for _, sub := range c.Commands() {
			collect(sub)
		}
	}
	collect(root)
	all := slices.Clone(args)
	for i, word := range all {
		if word == "--" {
			break
		}
		if len(word) < 3 || word[0] != '-' || word[1] == '-' {
			continue
		}
		if i > 0 && known[all[i-1]] {
			continue
		}
		name, _, _ := strings.Cut(word, "=")
		if _, ok := known["-"+name]; ok {
			all[i] = "-" + word
		}
	}
	return all
}

// Arguments returns a check of the number of arguments.
func Arguments(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		written := strings.TrimSuffix(c.UseLine(), " [flags]")
		switch {
		case len(args) < least:
			return exit.Usage(c.CommandPath(), fmt.Errorf("missing argument: %s", written))
		case len(args) > most:
			return exit.Usage(c.CommandPath(), fmt.Errorf("unexpected argument %q: %s", args[most], written))
		}
		return nil
	}
}

// JoinNegatives joins --parallelism -3, since Cobra would parse the number as a flag.
func JoinNegatives(args []string) []string {
	var all []string
	for i, word := range args {
		if word == "--" {
			return append(all, args[i:]...)
		}
		negative := len(word) > 1 && word[0] == '-' && word[1] >= '0' && word[1] <= '9'
		if last := len(all) - 1; negative && last >= 0 && strings.HasPrefix(all[last], "--") && !strings.Contains(all[last], "=") {
			all[last] += "=" + word
			continue
		}
		all = append(all, word)
	}
	return all
}

// Cobra's script for bash compares the typed text with each completion in its escaped form,
// worker\[web\]. But bash itself inserts the common part of several completions unescaped, worker[,
// and then nothing would match.
const (
	bashMatch  = `[[ $comp == "$cur"* ]] || continue`
	bashMended = `[[ $comp == "$cur"* || $compline == "$cur"* ]] || continue`
)

// FixBashCompletion makes bash complete the addresses of instances after their bracket.
func FixBashCompletion(root *cobra.Command) {
	bash, _, err := root.Find([]string{"completion", "bash"})
	if err != nil {
		return // cobra no longer has that command
	}
	bash.RunE = func(c *cobra.Command, _ []string) error {
		plain, err := c.Flags().GetBool("no-descriptions")
		if err != nil {
			return err
		}
		var script bytes.Buffer
		if err := root.GenBashCompletionV2(&script, !plain); err != nil {
			return fmt.Errorf("write the completion script: %w", err)
		}
		_, err = fmt.Fprint(c.OutOrStdout(), strings.Replace(script.String(), bashMatch, bashMended, 1))
		return err
	}
}

// Func is a flag that calls With with each value. Kind is its type in the help.
type Func struct {
	With func(string) error
	Kind string
}

// Set implements pflag.Value.
func (f Func) Set(s string) error { return f.With(s) }

// String implements pflag.Value.
func (f Func) String() string { return "" }

// Type implements pflag.Value.
func (f Func) Type() string { return f.Kind }

// AfterTurn adds --after-turn, which may have a time limit.
func AfterTurn(flags *pflag.FlagSet, given *bool, limit *time.Duration) {
	set := func(s string) error {
		if s == "true" || s == "false" {
			*given = s == "true"
			return nil
		}
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return errors.New("must be a duration above 0, such as 30m")
		}
		*given, *limit = true, d
		return nil
	}
	flags.Var(Func{set, "duration"}, "after-turn", "wait for the current turn to finish, for at most this `time` (--after-turn=30m; default: the manifest's after_turn, or 5m)")
	flags.Lookup("after-turn").NoOptDefVal = "true"
}

// Vars adds --var and --var-file. It appends both to one list, whose order counts.
func Vars(flags *pflag.FlagSet, vars *[]config.Var) {
	add := func(s string) error {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return errors.New("expected NAME=VALUE")
		}
		*vars = append(*vars, config.Var{Name: name, Value: value})
		return nil
	}
	addFile := func(s string) error {
		*vars = append(*vars, config.Var{File: s})
		return nil
	}
	flags.Var(Func{add, "stringArray"}, "var", "set a variable, `name=value` (repeatable)")
	flags.Var(Func{addFile, "stringArray"}, "var-file", "set variables from this `file` (repeatable)")
}

// Labels adds --label.
func Labels(flags *pflag.FlagSet, labels *map[string]string, usage string) {
	set := func(s string) error {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return errors.New("expected KEY=VALUE")
		}
		if *labels == nil {
			*labels = map[string]string{}
		}
		(*labels)[key] = value
		return nil
	}
	flags.Var(Func{set, "stringToString"}, "label", usage)
}

// duration accepts 90s, 1h30m, or a number of seconds.
type duration time.Duration

func (d *duration) Set(s string) error {
	value, err := time.ParseDuration(s)
	if err != nil {
		seconds, notNumber := strconv.ParseFloat(s, 64)
		if notNumber != nil || !(math.Abs(seconds) < math.MaxInt64/float64(time.Second)) { // NaN is not less, either
			return errors.New("expected a duration, such as 90s or 10m, or a number of seconds")
		}
		value = time.Duration(seconds * float64(time.Second))
	}
	*d = duration(value)
	return nil
}

// String is empty for zero, so that the help shows no default.
func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

func (d *duration) Type() string { return "duration" }

// Duration adds a flag for a duration.
func Duration(flags *pflag.FlagSet, into *time.Duration, name string, value time.Duration, usage string) {
	*into = value
	flags.Var((*duration)(into), name, usage)
}

// Since parses a time: a duration ago, or the start of a day.
func Since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return at, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	d, err := expr.ParseDuration(text)
	if err != nil || d <= 0 {
		return time.Time{}, fmt.Errorf("--since: %q is neither a duration such as 7d or 90m nor a date such as 2026-11-01", text)
	}
	return now.Add(-d), nil
}
