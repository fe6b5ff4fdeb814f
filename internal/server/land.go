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

// Lander brings the work of sessions to their bases, and bases into their branches. An error is a
// *land.Refusal if that is refused.
type Lander interface {
	Land(ctx context.Context, a session.Address, o api.LandOptions) (api.LandDocument, error)
	Refresh(ctx context.Context, a session.Address, o api.RefreshOptions) (api.RefreshDocument, error)
	// Foresee returns the order in which work lands. The options have no steps.
	Foresee(ctx context.Context, o api.LandingOptions) (api.LandingDocument, error)
	// LandAll lands the steps that were shown, until the first that does not land.
	LandAll(ctx context.Context, o api.LandingOptions) (api.LandingDocument, error)
}

var landMethods = []land.Method{"", land.Merge, land.Squash, land.Rebase}

func landSession(s *Server, w http.ResponseWriter, r *http.Request) error {
	var in api.LandOptions
	k, err := s.target(w, r, &in)
	if err != nil {
		return err
	}
	if !slices.Contains(append(landMethods, land.PR), land.Method(in.Method)) {
		return badRequest("unknown method: "+shorten(in.Method), "merge, squash, rebase or pr")
	}
	return landed(s, w, "agentform land", func(ctx context.Context, l Lander) (any, error) { return l.Land(ctx, k.Record.Address, in) })
}

func refreshSession(s *Server, w http.ResponseWriter, r *http.Request) error {
	var in api.RefreshOptions
	k, err := s.target(w, r, &in)
	if err != nil {
		return err
	}
	return landed(s, w, "agentform refresh", func(ctx context.Context, l Lander) (any, error) { return l.Refresh(ctx, k.Record.Address, in) })
}

func getLanding(s *Server, w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	in := api.LandingOptions{Verified: q.Get("verified") == "true", Method: q.Get("method")}
	if err := checkMethod(in); err != nil {
		return err
	}
	return landed(s, w, "agentform land --all --dry-run", func(_ context.Context, l Lander) (any, error) {
		return l.Foresee(r.Context(), in) // of no use when the client is gone
	})
}

func landAll(s *Server, w http.ResponseWriter, r *http.Request) error {
	var in api.LandingOptions
	if err := decode(w, r, &in); err != nil {
		return err
	}
	if err := checkMethod(in); err != nil {
		return err
	}
	if len(in.Steps) == 0 {
		return badRequest("no steps are given", "give address and tree of the steps that GET /v1/landing has returned")
	}
	return landed(s, w, "agentform land --all", func(ctx context.Context, l Lander) (any, error) { return l.LandAll(ctx, in) })
}

func checkMethod(o api.LandingOptions) error {
	if !slices.Contains(landMethods, land.Method(o.Method)) {
		return badRequest("unknown method: "+shorten(o.Method), "merge, squash or rebase")
	}
	return nil
}

// landed answers with what a Lander returns, or with the reason why it refuses. instead is the
// command that does the same without a hub.
func landed(s *Server, w http.ResponseWriter, instead string, do func(context.Context, Lander) (any, error)) error {
	if s.cfg.Land == nil {
		return fail(http.StatusConflict, "not_landed", "this hub lands nothing", "run "+instead)
	}
	var d any
	err := s.act(func(ctx context.Context) (err error) {
		d, err = do(ctx, s.cfg.Land)
		return err
	})
	if refusal := (*land.Refusal)(nil); errors.As(err, &refusal) {
		next := refusal.Next
		shown := *refusal
		shown.Next = ""
		return &api.Error{Status: http.StatusConflict, Code: "not_landed", Message: strings.TrimSpace(shown.Error()), Next: next, Send: refusal.Send, Unsaved: refusal.Unsaved}
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, d)
}
