package view

import (
	"io"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

func document(w io.Writer, fields ...any) error {
	return wire.Write(w, append(wire.Object{"format_version", api.FormatVersion}, fields...))
}

// ValidJSON writes the diagnostics of validate as one document.
func ValidJSON(w io.Writer, ds []session.Diagnostic) error {
	errs, warnings := status.Severities(ds)
	return document(w, "valid", len(errs) == 0, "error_count", len(errs), "warning_count", len(warnings),
		"diagnostics", wire.List(ds))
}

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
