package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/session"
)

// Lander brings a session's work to its base. The error is a *land.Refusal if that is refused.
type Lander func(ctx context.Context, a session.Address, o api.LandOptions) (api.LandDocument, error)

func landSession(s *Server, w http.ResponseWriter, r *http.Request) error {
	var in api.LandOptions
	k, err := s.target(w, r, &in)
	if err != nil {
		return err
	}
	if !slices.Contains([]land.Method{"", land.Merge, land.Squash, land.Rebase, land.PR}, land.Method(in.Method)) {
		return badRequest("unknown method: "+in.Method, "merge, squash, rebase or pr")
	}
	if s.cfg.Land == nil {
		return fail(http.StatusConflict, "not_landed", "this hub lands nothing", "run agentform land")
	}
	var d api.LandDocument
	err = s.act(func(ctx context.Context) (err error) {
		d, err = s.cfg.Land(ctx, k.Record.Address, in)
		return err
	})
	if refusal := (*land.Refusal)(nil); errors.As(err, &refusal) {
		next := refusal.Next
		shown := *refusal
		shown.Next = ""
		return fail(http.StatusConflict, "not_landed", strings.TrimSpace(shown.Error()), next)
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, d)
}
