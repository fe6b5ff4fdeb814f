package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// NotApplied is drift between the manifest and the state, which drift finds offline.
const NotApplied plan.DriftKind = "not_applied"

// DriftReport is the result of drift.
type DriftReport struct {
	Project   string
	Lineage   string
	Serial    uint64
	At        time.Time
	Agentform string            // version
	Sessions  []session.Address // the compared sessions, ordered by address
	Offline   bool              // the state was compared with the manifest
	Ignored   int               // sessions left out by name
	UnderWay  int               // sessions left out because another command is changing them
	Complete  bool              // everything was inspected; never offline
	Items     []DriftItem       // in a deterministic order
	Problems  []session.Diagnostic
	Manifest  string // the file of items without a range; empty: agentform.hcl
	Dir       string // paths below it are shown relative to it; empty: none
}

// DriftItem is one difference.
type DriftItem struct {
	Address session.Address `json:"address"`
	Kind    plan.DriftKind  `json:"kind"`
	Detail  string          `json:"detail"`
	Range   *session.Range  `json:"range"` // of the session's block; null when the manifest has none
}

// Drifted reports whether there is any difference. A session that could not be inspected does not
// count.
func (r DriftReport) Drifted() bool { return r.count().differ+r.count().orphans > 0 }

type driftCount struct{ differ, orphans, unknown int }

func (r DriftReport) count() driftCount {
	var c driftCount
	told := map[session.Address]bool{}
	for _, i := range r.Items {
		switch {
		case i.Kind == plan.Orphaned:
			c.orphans++
		case i.Kind == plan.Unreachable:
			c.unknown++
		case !told[i.Address]:
			told[i.Address] = true
			c.differ++
		}
	}
	return c
}

// Live returns unknown if no running session was inspected, and looked_at otherwise.
func (r DriftReport) Live() string {
	if n := len(r.Sessions); r.Offline || n > 0 && r.count().unknown == n {
		return "unknown"
	}
	return "looked_at"
}

// Near returns the report with relative paths below its directory.
func (r DriftReport) Near() DriftReport {
	s := Style{Dir: r.Dir}
	r.Items, r.Problems = slices.Clone(r.Items), slices.Clone(r.Problems)
	for i := range r.Items {
		r.Items[i].Detail = s.Near(r.Items[i].Detail)
	}
	for i := range r.Problems {
		r.Problems[i].Detail = s.Near(r.Problems[i].Detail)
	}
	return r
}

// Words returns the difference in words, starting with its kind.
func (i DriftItem) Words() string {
	kind := KindWords(i.Kind) + ": "
	return kind + strings.TrimPrefix(i.Detail, kind)
}

// Verdict returns the verdict, which is "no drift" only if everything was inspected.
func (r DriftReport) Verdict() string {
	const unseen = " Running sessions were not checked (--offline)."
	c, n := r.count(), len(r.Sessions)
	sessions := plaintext.Count(n, "session")
	var found []string
	if c.differ > 0 {
		found = append(found, fmt.Sprintf("drift in %d of %s", c.differ, sessions))
	}
	if c.orphans > 0 {
		found = append(found, plaintext.Count(c.orphans, "running session")+" not in the state")
	}
	missed, ignored := "", ""
	if r.Ignored > 0 {
		ignored = fmt.Sprintf(" %d ignored.", r.Ignored)
	}
	if r.UnderWay > 0 {
		ignored += fmt.Sprintf(" %d being changed by another command, not compared.", r.UnderWay)
	}
	if !r.Complete {
		missed = " Not everything could be inspected."
	}
	if c.unknown > 0 {
		missed = " Unknown: " + plaintext.Count(c.unknown, "session") + " that could not be inspected."
	}
	switch {
	case r.Offline && c.differ > 0:
		return fmt.Sprintf("Not applied: the state differs from the manifest in %d of %s.", c.differ, sessions) + unseen
	case r.Offline:
		return "The state matches the manifest (" + sessions + ")." + unseen
	case len(found) > 0:
		verdict := strings.Join(found, ", ")
		return strings.ToUpper(verdict[:1]) + verdict[1:] + "." + missed
	case n > 0 && c.unknown == n:
		return "Nothing was compared." + missed
	case missed != "":
		return "No drift in what could be inspected." + missed
	case n == 0 && r.Ignored > 0:
		return "Nothing was compared: " + plaintext.Count(r.Ignored, "session") + " ignored."
	}
	return "No drift in " + sessions + "." + ignored
}

// Drift writes the report as text.
func Drift(w io.Writer, s Style, r DriftReport) error {
	p := page{Style: s}
	if len(r.Items) > 0 {
		rows := make([][]cell, 0, len(r.Items))
		for _, i := range r.Items {
			rows = append(rows, []cell{{string(i.Address), bold}, {KindWords(i.Kind), driftInk(i.Kind)}, {i.Detail, noInk}})
		}
		p.fullTable(s.Dir, "  ", []column{{title: "SESSION"}, {title: "DRIFT"}, {title: "DETAIL"}}, rows)
		p.line()
	}
	p.line(p.paint(bold, r.Verdict()))
	return p.flush(w)
}

// KindWords returns a kind of drift in words.
func KindWords(k plan.DriftKind) string { return strings.ReplaceAll(string(k), "_", " ") }

func driftInk(k plan.DriftKind) ink {
	switch k {
	case plan.Stale, plan.Exited, plan.Orphaned, plan.Unreachable:
		return yellow
	case plan.Changed, NotApplied:
		return blue
	}
	return red
}

// DriftJSON writes the report as one document.
func DriftJSON(w io.Writer, r DriftReport) error {
	errs, warnings := status.Severities(r.Problems)
	return document(w, "agentform_version", r.Agentform, "timestamp", wire.UTC(r.At), "project", r.Project,
		"lineage", r.Lineage, "serial", r.Serial, "complete", r.Complete, "live", r.Live(), "drifted", r.Drifted(),
		"session_count", len(r.Sessions), "drift", wire.List(r.Items), "errors", errs, "warnings", warnings)
}
