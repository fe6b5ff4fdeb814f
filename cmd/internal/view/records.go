package view

import (
	"io"

	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/state"
)

// StateList writes the addresses of recorded sessions, one a line.
func StateList(w io.Writer, records []session.Record) error {
	p := &page{}
	for _, r := range records {
		p.line(p.paint(noInk, string(r.Address)))
	}
	return p.flush(w)
}

// StateShow writes one record, one field a line.
func StateShow(w io.Writer, s Style, r session.Record) error {
	p := &page{Style: s}
	p.line(p.paint(bold, string(r.Address)))
	p.aligned("  ", flatten(r))
	return p.flush(w)
}

// StateListJSON writes a summary of some of a state's sessions as one document.
func StateListJSON(w io.Writer, s state.State, records []session.Record) error {
	sessions := make([]wire.Object, len(records))
	for i, x := range records {
		sessions[i] = wire.Object{"address", x.Address, "id", x.ID, "origin", x.Origin, "agent", x.Spec.Agent.Name,
			"runtime", x.Spec.Runtime.Key(), "branch", x.Tree.Branch, "workspace", x.Tree.Path, "run", x.Run.ID,
			"updated_at", wire.UTCOrNil(x.UpdatedAt)}
	}
	return document(w, "project", s.Project, "lineage", s.Lineage, "serial", s.Serial, "sessions", sessions)
}

// StateShowJSON writes one record as one document.
func StateShowJSON(w io.Writer, r session.Record) error { return document(w, "session", r) }
