package cli_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/test/stateserver"
)

// stateserver VARIABLE: a server of Terraform's protocol for states, whose address is in a
// variable. GET of ADDRESS/down makes it answer 503 to all else, and ADDRESS/up ends that.
func startStateServer(ts *testscript.TestScript, neg bool, args []string) {
	states := stateserver.New()
	var down atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/down", r.URL.Path == "/up":
			down.Store(r.URL.Path == "/down")
		case down.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			states.ServeHTTP(w, r)
		}
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// agekey PUBLIC SECRET: sets two variables to a key pair of age.
func ageKey(ts *testscript.TestScript, neg bool, args []string) {
	key, err := age.GenerateX25519Identity()
	ts.Check(err)
	ts.Setenv(args[0], key.Recipient().String())
	ts.Setenv(args[1], key.String())
}
