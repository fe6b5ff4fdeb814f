package view

import (
	"io"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

func document(w io.Writer, fields ...any) error {
	return wire.Write(w, append(wire.Object{"format_version", api.FormatVersion}, fields...))
}

// PlanJSON writes a plan as one document. version is agentform's.
func PlanJSON(w io.Writer, p plan.Plan, version string) error {
	return wire.Write(w, status.PlanOf(p, version))
}

// ValidJSON writes the diagnostics of validate as one document.
func ValidJSON(w io.Writer, ds []session.Diagnostic) error {
	errs, warnings := status.Severities(ds)
	return document(w, "valid", len(errs) == 0, "error_count", len(errs), "warning_count", len(warnings),
		"diagnostics", wire.List(ds))
}

// StatusJSON writes sessions as one document, in the order given.
func StatusJSON(w io.Writer, sessions []api.Session, supervisor api.Supervisor) error {
	return wire.Write(w, status.DocumentOf(sessions, supervisor))
}

// ShowJSON writes one session in full as one document.
func ShowJSON(w io.Writer, x status.Detail) error { return wire.Write(w, x.Document()) }

// Build identifies a build of agentform.
type Build struct {
	Version  string
	Commit   string // empty: not known
	Go       string // go1.26
	Platform string // linux/amd64
}

// Version writes a Build.
func Version(w io.Writer, b Build) error {
	p := &page{}
	p.line(p.paint(noInk, "agentform "+b.Version))
	on := "on " + b.Platform + ", " + b.Go
	if b.Commit != "" {
		on += ", commit " + b.Commit
	}
	p.line(p.paint(noInk, on))
	return p.flush(w)
}

// VersionJSON writes a Build as one document.
func VersionJSON(w io.Writer, b Build) error {
	return document(w, "agentform_version", b.Version, "commit", b.Commit, "go", b.Go, "platform", b.Platform)
}
