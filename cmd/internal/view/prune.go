package view

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/wire"
)

// Leftover is something in the data folder, or among the sockets, that no session
// on record needs.
type Leftover struct {
	Kind   string `json:"kind"` // workspace, run, prompt, guest, socket
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Action string `json:"action"` // remove (not done yet), removed, keep, failed
	Reason string `json:"reason"`
}

// What is done with a Leftover.
const (
	LeftToRemove = "remove"
	LeftRemoved  = "removed"
	LeftKept     = "keep"
	LeftFailed   = "failed"
)

// Prune writes what is left over: what goes, one line for each workspace and one
// for all of any other kind, then what is kept and why.
func Prune(w io.Writer, s Style, all []Leftover) error {
	p := &page{Style: s}
	for _, part := range []struct{ action, title string }{
		{LeftToRemove, "Would be removed:"}, {LeftRemoved, "Removed:"}, {LeftKept, "Kept:"}, {LeftFailed, "Could not be removed:"},
	} {
		rows := leftovers(all, part.action)
		if len(rows) == 0 {
			continue
		}
		if p.Len() > 0 {
			p.line()
		}
		p.line(p.paint(bold, part.title))
		whole := page{Style: Style{Color: p.Color}} // paths and reasons are told in full
		whole.table("  ", make([]column, 4), rows)
		p.line(strings.TrimRight(whole.String(), "\n"))
	}
	if p.Len() == 0 {
		p.line("Nothing is left over.")
	}
	return p.flush(w)
}

// leftovers are the rows of what has that action: each by itself if it is a
// workspace or its reason is its own, else all of a kind together.
func leftovers(all []Leftover, action string) [][]cell {
	var rows [][]cell
	type sum struct {
		count int
		bytes int64
	}
	sums := map[string]*sum{}
	for _, l := range all {
		switch {
		case l.Action != action:
		case l.Kind == "workspace" || action == LeftKept || action == LeftFailed:
			rows = append(rows, []cell{{l.Kind, noInk}, {l.Path, bold}, {size(l.Bytes), dim}, {l.Reason, noInk}})
		default:
			if sums[l.Kind] == nil {
				sums[l.Kind] = &sum{}
			}
			sums[l.Kind].count++
			sums[l.Kind].bytes += l.Bytes
		}
	}
	for _, kind := range []string{"run", "prompt", "guest", "socket"} {
		if x := sums[kind]; x != nil {
			rows = append(rows, []cell{{kind, noInk}, {fmt.Sprintf("%d that no session needs", x.count), noInk}, {size(x.bytes), dim}, {"", noInk}})
		}
	}
	return rows
}

func size(n int64) string {
	if n == 0 {
		return ""
	}
	return Bytes(n)
}

// PruneJSON writes what is left over as one document. Applied says that it was to
// be removed, and not only shown.
func PruneJSON(w io.Writer, all []Leftover, applied bool) error {
	return wire.Write(w, struct {
		Format  string     `json:"format_version"`
		Applied bool       `json:"applied"`
		Found   []Leftover `json:"leftovers"`
	}{api.FormatVersion, applied, wire.List(all)})
}
