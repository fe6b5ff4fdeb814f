package help

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Flags returns a table of flags but --help. It is empty if there are none.
func Flags(flags *pflag.FlagSet, width int) string { return Table(entriesOf(flags), 2, width) }

func entriesOf(flags *pflag.FlagSet) (rows []Entry) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			rows = append(rows, entryOf(f))
		}
	})
	return rows
}

func entryOf(f *pflag.Flag) Entry {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	value, text := pflag.UnquoteUsage(f)
	switch {
	case value == "":
	case f.NoOptDefVal != "":
		name += "[=" + value + "]"
	default:
		name += " " + value
	}
	if !slices.Contains([]string{"", "0", "-1", "false", "[]"}, f.DefValue) {
		text += " (default: " + strings.Trim(f.DefValue, `"`) + ")"
	}
	return Entry{name, text}
}
