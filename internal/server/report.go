package server

import (
	"net/http"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/hub"
)

// Reporter returns the report of what a hub observed since a time.
type Reporter func(s *hub.Snapshot, since time.Time) api.Report

// reportSpan is the default time of a report, as in the command.
const reportSpan = 18 * time.Hour

func getReport(s *Server, w http.ResponseWriter, r *http.Request) error {
	snapshot, err := s.requested(r)
	if err != nil {
		return err
	}
	since, err := sinceOf(r)
	if err != nil {
		return err
	}
	if since.IsZero() {
		since = snapshot.At.Add(-reportSpan)
	}
	if s.cfg.Report == nil {
		return fail(http.StatusConflict, "no_report", "this hub makes no reports", "run agentform report")
	}
	return answer(w, http.StatusOK, s.cfg.Report(snapshot, since))
}

// sinceOf returns the time since which a request asks; zero: it does not say.
func sinceOf(r *http.Request) (time.Time, error) {
	text := r.URL.Query().Get("since")
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, badRequest("since must be a time such as 2026-11-01T00:00:00Z", "")
	}
	return at, nil
}
