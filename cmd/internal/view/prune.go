package view

import (
	"fmt"
	"io"

	"github.com/agentform/agentform/cmd/internal/prune"
	"github.com/agentform/agentform/internal/wire"
)

// Prune writes leftovers: what is removed, one line for each workspace and one for each
// other kind, then what is kept and why.
func Prune(w io.Writer, s Style, all []prune.Leftover) error {
	p := &page{Style: s}
	for _, part := range []struct {
		action prune.Action
		title  string
	}{
		{prune.Remove, "Would be removed:"}, {prune.Removed, "Removed:"}, {prune.Keep, "Kept:"}, {prune.Failed, "Could not be removed:"},
	} {
		rows := leftovers(all, part.action)
		if len(rows) == 0 {
			continue
		}
		if p.Len() > 0 {
			p.line()
		}
		p.line(p.paint(bold, part.title))
		p.fullTable("", "  ", make([]column, 4), rows)
	}
	if p.Len() == 0 {
		p.line("Nothing is left over.")
	}
	return p.flush(w)
}

// leftovers sums those without a reason of their own by kind.
func leftovers(all []prune.Leftover, action prune.Action) [][]cell {
	var rows [][]cell
	type sum struct {
		count int
		bytes int64
	}
	sums := map[prune.Kind]*sum{}
	for _, l := range all {
		switch {
		case l.Action != action:
		case l.Kind == prune.Workspace || action == prune.Keep || action == prune.Failed:
			rows = append(rows, []cell{{kindName(l.Kind), noInk}, {l.Path, bold}, {size(l.Bytes), dim}, {l.Reason, noInk}})
		default:
			if sums[l.Kind] == nil {
				sums[l.Kind] = &sum{}
			}
			sums[l.Kind].count++
			sums[l.Kind].bytes += l.Bytes
		}
	}
	for _, kind := range []prune.Kind{prune.Run, prune.Prompt, prune.Shim, prune.Socket} {
		if x := sums[kind]; x != nil {
			rows = append(rows, []cell{{kindName(kind), noInk}, {fmt.Sprintf("%d that no session needs", x.count), noInk}, {size(x.bytes), dim}, {"", noInk}})
		}
	}
	return rows
}

func kindName(k prune.Kind) string {
	if k == prune.Shim {
		return "shim"
	}
	return string(k)
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return Bytes(n)
}

// PruneJSON writes leftovers as one document. applied says that they were to be removed.
func PruneJSON(w io.Writer, all []prune.Leftover, applied bool) error {
	return document(w, "applied", applied, "leftovers", wire.List(all))
}
