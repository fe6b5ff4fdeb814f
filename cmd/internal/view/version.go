package view

import (
	"io"
)

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
