//go:build real

package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/test/otlptest"
)

// webhook VARIABLE FILE: a server whose address is in a variable. It keeps what is sent to
// /TOKEN in a file, and refuses everything else as Slack does.
func webhook(ts *testscript.TestScript, neg bool, args []string) {
	file := ts.MkAbs(args[1])
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if path.Base(r.URL.Path) != "t0kenOfTheHook" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "invalid_token")
			return
		}
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		defer f.Close()
		fmt.Fprintf(f, "%s\n", body)
	}))
	ts.Defer(s.Close)
	ts.Setenv(args[0], s.URL)
}

// collector NAME FILE: a collector of OpenTelemetry, whose address becomes the environment
// variable NAME, writes a line of each thing that it gets to FILE.
func collector(ts *testscript.TestScript, neg bool, args []string) {
	file, err := os.OpenFile(ts.MkAbs(args[1]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	s := httptest.NewServer(&otlptest.Collector{Told: func(line string) { fmt.Fprintln(file, line) }})
	ts.Defer(func() {
		s.Close()
		_ = file.Close()
	})
	ts.Setenv(args[0], s.URL)
}
