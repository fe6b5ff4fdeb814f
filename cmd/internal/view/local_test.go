package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/history"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/session"
)

// TestTimesAreLocal checks the times in displayed details.
func TestTimesAreLocal(t *testing.T) {
	at := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	detail := "backing off, next try " + at.Format(time.RFC3339) + " (1 of 5)"
	want := at.Local().Format(time.DateTime)
	style := Style{Width: 200}
	var b bytes.Buffer
	for name, print := range map[string]func() error{
		"services": func() error {
			return Services(&b, style, []status.Service{{Kind: "tmux", Sessions: []status.Housed{{Address: "session.a", State: session.StateStale, Detail: detail}}}})
		},
		"a finished run": func() error {
			return FinishedLine(&b, style, Finished{Session: api.Session{Address: "session.a", Detail: detail}}, time.Now())
		},
		"progress": func() error {
			NewProgress(&b, style).Event(history.Event{Kind: history.Held, Address: "session.a", Detail: detail})
			return nil
		},
	} {
		b.Reset()
		if err := print(); err != nil || !strings.Contains(b.String(), want) || strings.Contains(b.String(), "05:06Z") {
			t.Errorf("%s: %s, %v", name, b.String(), err)
		}
	}
}
