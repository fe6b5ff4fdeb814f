package view

import (
	"io"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/wire"
)

// Build identifies a build of agentform.
type Build struct {
	Version  string `json:"agentform_version"`
	Commit   string `json:"commit"`   // empty: not known
	Go       string `json:"go"`       // go1.26
	Platform string `json:"platform"` // linux/amd64
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
	return wire.Write(w, struct {
		Format string `json:"format_version"`
		Build
	}{api.FormatVersion, b})
}
