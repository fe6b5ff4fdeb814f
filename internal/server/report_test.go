package server_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/session"
)

// A report is of the last 18 hours until the last look, or since a time.
func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, session.Single("api"))
		s.serve()
		client := s.caller()
		get := func(query string) (d api.Report) {
			q, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/report"+query, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := client.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if err := json.NewDecoder(r.Body).Decode(&d); err != nil || r.StatusCode != http.StatusOK {
				t.Fatalf("%d, %v", r.StatusCode, err)
			}
			return d
		}
		if d := get("?fresh=true"); d.Until.Sub(d.Since) != 18*time.Hour || time.Since(d.Until) > time.Second || d.Project != "shop" {
			t.Errorf("from %s to %s: %+v", d.Since, d.Until, d)
		}
		if d := get("?since=1999-12-31T20:00:00Z"); !d.Since.Equal(time.Date(1999, 12, 31, 20, 0, 0, 0, time.UTC)) {
			t.Errorf("since %s", d.Since)
		}
	})
}
