package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/land"
	"github.com/agentform/agentform/session"
)

// scriptedLander answers with what it was asked, or fails.
type scriptedLander struct{ err error }

func (l scriptedLander) Land(_ context.Context, a session.Address, o api.LandOptions) (d api.LandDocument, err error) {
	d.Result = api.Landed{Address: a, Method: o.Method, Steps: []api.LandStep{}}
	return d, l.err
}

func (l scriptedLander) Refresh(_ context.Context, a session.Address, o api.RefreshOptions) (api.RefreshDocument, error) {
	return api.RefreshDocument{DryRun: o.DryRun, Refreshes: []api.Refreshed{{Address: a, Done: true, Conflicts: []string{}}}}, l.err
}

func (l scriptedLander) Foresee(_ context.Context, o api.LandingOptions) (api.LandingDocument, error) {
	return l.document(o, true)
}

func (l scriptedLander) LandAll(_ context.Context, o api.LandingOptions) (api.LandingDocument, error) {
	return l.document(o, false)
}

func (l scriptedLander) document(o api.LandingOptions, dryRun bool) (api.LandingDocument, error) {
	d := api.LandingDocument{DryRun: dryRun, Steps: []api.LandingStep{}, Refreshes: []api.Refreshed{},
		LeftOut: []api.LeftOut{{Address: "session.left", Why: fmt.Sprintf("verified %v by %s", o.Verified, o.Method)}}}
	for _, s := range o.Steps {
		d.Steps = append(d.Steps, api.LandingStep{Address: s.Address, Tree: s.Tree, Landed: !dryRun})
	}
	return d, l.err
}

// TestLanding asks for what lands, and refreshes: each request is answered as the document says.
func TestLanding(t *testing.T) {
	refusal := fmt.Errorf("land: %w", &land.Refusal{Why: "session.api conflicts:", Files: []string{"a.go"}, Next: "merge it"})
	for _, x := range []struct {
		err          error
		method, path string
		body         string
		status       int
		has          []string
	}{
		{nil, "POST", "/v1/sessions/api/land", `{"method": "pr"}`, 200, []string{`"method": "pr"`}},
		{nil, "POST", "/v1/sessions/api/refresh", "", 200, []string{`"dry_run": false`, `"address": "session.api"`, `"done": true`}},
		{nil, "POST", "/v1/sessions/api/refresh", `{"dry_run": true}`, 200, []string{`"dry_run": true`}},
		{nil, "POST", "/v1/sessions/nobody/refresh", "", 404, []string{`"not_found"`}},
		{nil, "POST", "/v1/sessions/api/refresh", `{"method": "rebase"}`, 400, []string{`"bad_request"`}},
		{nil, "GET", "/v1/landing", "", 200, []string{`"dry_run": true`, `verified false by "`}},
		{nil, "GET", "/v1/landing?verified=true&method=squash", "", 200, []string{"verified true by squash"}},
		{nil, "GET", "/v1/landing?method=pr", "", 400, []string{"merge, squash or rebase"}},
		{nil, "POST", "/v1/landing", `{"steps": [{"address": "session.api", "tree": "4b825dc"}], "verified": true, "method": "rebase"}`, 200,
			[]string{`"tree": "4b825dc"`, `"landed": true`, "verified true by rebase"}},
		{nil, "POST", "/v1/landing", `{}`, 400, []string{"GET /v1/landing"}},
		{nil, "POST", "/v1/landing", `{"steps": [{"address": "session.api", "tree": "4b825dc"}], "method": "pr"}`, 400, []string{"merge, squash or rebase"}},
		{refusal, "POST", "/v1/sessions/api/refresh", "", 409, []string{`"not_landed"`, `session.api conflicts:\n  a.go"`, `"next": "merge it"`}},
		{refusal, "POST", "/v1/landing", `{"steps": [{"address": "session.api", "tree": "4b825dc"}]}`, 409, []string{`"not_landed"`, `conflicts:\n  a.go"`}},
		{&land.Refusal{Why: "session.api has 1 untracked file", Unsaved: "1 untracked file"}, "POST", "/v1/sessions/api/land", "", 409, []string{`"unsaved": "1 untracked file"`}},
		{errors.New("the disk is full"), "POST", "/v1/landing", `{"steps": [{"address": "session.api", "tree": "4b825dc"}]}`, 500, []string{"the disk is full"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newShop(t, session.Single("api"))
			s.lander = scriptedLander{x.err}
			s.serve()
			q, err := http.NewRequestWithContext(t.Context(), x.method, "http://localhost"+x.path, strings.NewReader(x.body))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("Content-Type", "application/json")
			r, err := s.caller().Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			text, err := io.ReadAll(r.Body)
			if err != nil || r.StatusCode != x.status {
				t.Errorf("%s %s %s: %d %s %v, want %d", x.method, x.path, x.body, r.StatusCode, text, err, x.status)
			}
			for _, h := range x.has {
				if !strings.Contains(string(text), h) {
					t.Errorf("%s %s %s has no %s:\n%s", x.method, x.path, x.body, h, text)
				}
			}
			newContract(t).holds(x.method, x.path, r.StatusCode, r.Header.Get("Content-Type"), text)
		})
	}
}
