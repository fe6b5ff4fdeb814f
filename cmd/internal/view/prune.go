package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentform/agentform/cmd/internal/prune"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
)

// Prune writes what is removed, then what is kept, with reasons.
func Prune(w io.Writer, s Style, all []prune.Leftover) error {
	p := &page{Style: s}
	for _, part := range []struct {
		action prune.Action
		title  string
	}{
		{prune.Remove, "Will remove:"}, {prune.Removed, "Removed:"}, {prune.Keep, "Kept:"}, {prune.Failed, "Cannot remove:"},
	} {
		if rows := leftovers(all, part.action); len(rows) > 0 {
			if p.Len() > 0 {
				p.line()
			}
			p.line(p.paint(bold, part.title))
			p.fullTable("", "  ", make([]column, 4), rows)
		}
	}
	if p.Len() == 0 {
		p.line("Nothing to remove.")
	}
	return p.flush(w)
}

// leftovers sums leftovers without their own reason by kind.
func leftovers(all []prune.Leftover, action prune.Action) [][]cell {
	var rows [][]cell
	counts, bytes := map[prune.Kind]int{}, map[prune.Kind]int64{}
	row := func(kind prune.Kind, what cell, size int64, reason string) {
		bytes := ""
		if size > 0 {
			bytes = plaintext.Bytes(size)
		}
		rows = append(rows, []cell{{string(kind), noInk}, what, {bytes, dim}, {reason, noInk}})
	}
	for _, l := range all {
		switch {
		case l.Action != action:
		case l.Kind == prune.Workspace || l.Kind == prune.Volume || l.Kind == prune.Branch || action == prune.Keep || action == prune.Failed:
			row(l.Kind, cell{strings.TrimPrefix(l.Path, "refs/heads/"), bold}, l.Bytes, l.Reason)
		default:
			counts[l.Kind]++
			bytes[l.Kind] += l.Bytes
		}
	}
	for _, kind := range []prune.Kind{prune.Run, prune.Prompt, prune.Shim, prune.Socket} {
		if counts[kind] > 0 {
			row(kind, cell{fmt.Sprintf("%d unused", counts[kind]), noInk}, bytes[kind], "")
		}
	}
	return rows
}

// PruneJSON writes leftovers as one document. applied reports whether they were to be removed.
func PruneJSON(w io.Writer, all []prune.Leftover, applied bool) error {
	return document(w, "applied", applied, "leftovers", wire.List(all))
}
