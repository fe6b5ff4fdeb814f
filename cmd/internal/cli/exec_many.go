package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentform/agentform/cmd/internal/exit"
	"github.com/agentform/agentform/cmd/internal/streams"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/session"
)

// execMany runs a command in several sessions.
func execMany(ctx context.Context, a *app, o execOptions, records []session.Record) error {
	named := make([]session.Address, len(records))
	for i, r := range records {
		named[i] = r.Address
	}
	out, errOut := prefixes(a, a.Out, named), prefixes(a, a.Err, named)
	interrupted, stop := streams.UntilInterrupted(ctx)
	defer stop()
	defer context.AfterFunc(interrupted, func() {
		fmt.Fprintln(a.Err, "\nInterrupted: waiting for the commands that run; no more are started.")
	})()
	codes, errs := make([]int, len(records)), make([]error, len(records))
	var preparing sync.Mutex // it opens what is shared
	begun := streams.InParallel(len(records), o.limit, interrupted.Done(), func(i int) {
		preparing.Lock()
		c, err := commandIn(ctx, a, records[i], o, o.noPrefix)
		preparing.Unlock()
		switch {
		case err != nil:
		case o.noPrefix:
			fmt.Fprintf(a.Err, "%s:\n", named[i])
			codes[i], err = streams.Foreground(c)
		default:
			w, ew := out.Writer(i), errOut.Writer(i)
			c.Stdin, c.Stdout, c.Stderr, c.WaitDelay = nil, w, ew, leftOutput
			codes[i], err = streams.Foreground(c)
			err = errors.Join(err, w.Close(), ew.Close())
		}
		if err != nil {
			codes[i], errs[i] = int(exit.Error), fmt.Errorf("%s: %w", named[i], err)
		} else if codes[i] != 0 {
			errs[i] = fmt.Errorf("%s: exit status %d", named[i], codes[i])
		}
	})
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	m := view.Many{Verb: "succeeded in", All: len(records), Failed: len(errs), Left: len(records) - begun}
	m.Done = begun - m.Failed
	err := endMany(a, m, a.Err, errs)
	if i := slices.IndexFunc(codes, func(code int) bool { return code != 0 }); i >= 0 && begun == len(records) {
		return exit.Code(codes[i])
	}
	return err
}

// leftOutput is how long a command that has ended may leave its output to others.
const leftOutput = time.Second
