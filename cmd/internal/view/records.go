package view

import (
	"io"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Records is the content of the state file.
type Records struct {
	Project  string
	Lineage  string
	Serial   uint64
	Sessions []session.Record
}

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

// StateListJSON writes a summary of the state as one document.
func StateListJSON(w io.Writer, r Records) error {
	type entry struct {
		Address   session.Address `json:"address"`
		ID        string          `json:"id"`
		Origin    session.Origin  `json:"origin"`
		Agent     string          `json:"agent"`
		Runtime   string          `json:"runtime"`
		Branch    string          `json:"branch"`
		Workspace string          `json:"workspace"`
		Run       string          `json:"run"`
		UpdatedAt *time.Time      `json:"updated_at"`
	}
	d := struct {
		Format   string  `json:"format_version"`
		Project  string  `json:"project"`
		Lineage  string  `json:"lineage"`
		Serial   uint64  `json:"serial"`
		Sessions []entry `json:"sessions"`
	}{api.FormatVersion, r.Project, r.Lineage, r.Serial, []entry{}}
	for _, x := range r.Sessions {
		d.Sessions = append(d.Sessions, entry{x.Address, x.ID, x.Origin, x.Spec.Agent.Name, x.Spec.Runtime.Key(),
			x.Tree.Branch, x.Tree.Path, x.Run.ID, wire.UTCOrNil(x.UpdatedAt)})
	}
	return wire.Write(w, d)
}

// StateShowJSON writes one record as one document.
func StateShowJSON(w io.Writer, r session.Record) error {
	return wire.Write(w, struct {
		Format  string         `json:"format_version"`
		Session session.Record `json:"session"`
	}{api.FormatVersion, r})
}
