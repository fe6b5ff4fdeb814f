package view

import (
	"io"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/wire"
	"github.com/agentform/agentform/plan"
	"github.com/agentform/agentform/session"
)

// PlanJSON writes a plan as one document. version is that of agentform.
func PlanJSON(w io.Writer, p plan.Plan, version string) error {
	return wire.Write(w, status.PlanOf(p, version))
}

// ValidJSON writes the diagnostics of validate as one document.
func ValidJSON(w io.Writer, ds []session.Diagnostic) error {
	errs, warnings := status.Severities(ds)
	return wire.Write(w, struct {
		Format      string               `json:"format_version"`
		Valid       bool                 `json:"valid"`
		Errors      int                  `json:"error_count"`
		Warnings    int                  `json:"warning_count"`
		Diagnostics []session.Diagnostic `json:"diagnostics"`
	}{api.FormatVersion, len(errs) == 0, len(errs), len(warnings), wire.List(ds)})
}

// StatusJSON writes sessions as one document, in the order given.
func StatusJSON(w io.Writer, sessions []api.Session, supervisor api.Supervisor) error {
	return wire.Write(w, status.DocumentOf(sessions, supervisor))
}

// ShowJSON writes one session in full as one document.
func ShowJSON(w io.Writer, x status.Detail) error { return wire.Write(w, x.Document()) }

// TextJSON writes the end of a session's screen or transcript as one document.
func TextJSON(w io.Writer, a session.Address, text string) error {
	tail, truncated := wire.Tail(text)
	return wire.Write(w, struct {
		Format    string          `json:"format_version"`
		Address   session.Address `json:"address"`
		Text      string          `json:"text"`
		Truncated bool            `json:"truncated"`
	}{api.FormatVersion, a, tail, truncated})
}
