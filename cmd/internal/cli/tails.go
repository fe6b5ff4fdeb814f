package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agentform/agentform/cmd/internal/action/logs"
	"github.com/agentform/agentform/cmd/internal/view"
)

// tailFlag adds --tail. things are what it counts.
func tailFlag(c *cobra.Command, most *logs.Tail, things string) {
	c.Flags().IntVarP((*int)(most), "tail", "n", -1, "print only the last `N` "+things+" (-1: all)")
}

func checkTail(t logs.Tail) error {
	if t < -1 {
		return errors.New("--tail: must be 0 or more; -1 prints all")
	}
	return nil
}

// tailResults are the results of a command that prints the end of screens or logs. single: of the one
// session that was named.
func tailResults(a *app, verb string, all int, given []view.Tail, single bool) results[view.Tail] {
	printed := 0
	return results[view.Tail]{
		verb: verb, all: all, given: given,
		fault: func(x view.Tail) error { return x.Err },
		line: func(x view.Tail) error {
			if all > 1 && printed > 0 {
				fmt.Fprintln(a.Out)
			}
			printed++
			truncated, err := view.TailText(a.Out, a.OutStyle(), x, all > 1)
			if truncated {
				fmt.Fprintln(a.Err, "(only the last 48 KiB)")
			}
			return err
		},
		json: func(w io.Writer, given []view.Tail) error {
			switch {
			case single && given[0].Err != nil:
				return nil
			case single:
				return view.TailJSON(w, given[0])
			}
			return view.TailsJSON(w, given)
		},
	}
}
