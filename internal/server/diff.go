package server

import (
	"context"
	"net/http"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/session"
)

// diffTime bounds git in a workspace, and in a container.
const diffTime = 30 * time.Second

// Differ returns what a session changed, since its base or, unless that is zero, a time.
type Differ func(ctx context.Context, r session.Record, since time.Time) (api.DiffDocument, error)

func getDiff(s *Server, w http.ResponseWriter, r *http.Request) error {
	k, err := find(s.cfg.Hub.Snapshot(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if s.cfg.Diff == nil {
		return fail(http.StatusConflict, "no_diff", "this hub compares no workspaces", "run agentform diff")
	}
	from, err := sinceOf(r)
	if err != nil {
		return err
	}
	ctx, done := context.WithTimeout(r.Context(), diffTime)
	defer done()
	d, err := s.cfg.Diff(ctx, *k.Record, from)
	if err != nil {
		return fail(http.StatusConflict, "no_diff", err.Error(), "agentform diff shows it in a terminal")
	}
	return answer(w, http.StatusOK, d)
}
