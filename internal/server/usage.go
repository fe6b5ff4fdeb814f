package server

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/status"
)

func (s *Server) getUsage(w http.ResponseWriter, r *http.Request) error {
	q := status.UsageQuery{By: cmp.Or(r.URL.Query().Get("by"), status.BySession), Days: time.Local}
	if !slices.Contains(status.UsageBy(), q.By) {
		return badRequest("by must be "+plaintext.List(status.UsageBy(), "or"), "")
	}
	since, err := sinceOf(r)
	if err != nil {
		return err
	}
	q.Since = since
	all, err := s.cfg.Usage.All()
	if err != nil {
		return err
	}
	snapshot := s.cfg.Hub.Snapshot()
	status.CurrentAddresses(all, snapshot.Records())
	q.Budgets = snapshot.Budgets
	return answer(w, http.StatusOK, status.UsageDocumentOf(all, q))
}
