package view

import (
	"io"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/session"
)

// Verification is the outcome of a manual verification.
type Verification struct {
	Address  session.Address
	Verified *api.Verified // nil: Err is the reason
	Output   string        // the end of the command's output
	Err      error
}

// Verified writes whether the work of a session is verified, and if not the command's output.
func Verified(w io.Writer, s Style, x Verification) error {
	p := &page{Style: s}
	v := x.Verified
	head := p.paint(bold, string(x.Address)+":") + " "
	commit := p.paint(noInk, v.Commit[:min(7, len(v.Commit))])
	if v.OK {
		p.line(head, p.paint(green, "verified"), " at ", commit)
		return p.flush(w)
	}
	p.prose(2, head, p.paint(red, "not verified"), " at ", commit, ": ", p.paint(noInk, plaintext.OneLine(v.Detail)))
	if output := strings.TrimRight(plaintext.Safe(x.Output), "\n "); output != "" {
		for line := range strings.SplitSeq(output, "\n") {
			p.line(strings.TrimRight("  "+p.paint(dim, "│")+" "+line, " "))
		}
	}
	return p.flush(w)
}

// VerifiedJSON writes the outcomes of manual verifications as one document.
func VerifiedJSON(w io.Writer, all []Verification) error {
	list := make([]wire.Object, len(all))
	for i, x := range all {
		list[i] = wire.Object{"address", x.Address, "verified", x.Verified, "output", x.Output, "error", failure(x.Err)}
	}
	return document(w, "verifications", list)
}
