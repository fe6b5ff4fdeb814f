package view

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/status"
	"github.com/agentform/agentform/internal/usage"
	"github.com/agentform/agentform/session"
)

// sampleUsage returns the usage of two sessions and three models, one of them without a price.
func sampleUsage() api.UsageDocument {
	at := time.Date(2026, 3, 14, 9, 15, 0, 0, time.UTC)
	d := status.UsageDocumentOf([]usage.Session{
		{ID: "api-1f2e3d4c", Address: "session.api", Slices: map[usage.Slice]usage.Sum{
			{Start: at, Model: "claude-opus-4-8", Run: "1", Agent: "claude"}:  {Answers: 120, Tokens: session.Tokens{Input: 9_000, CacheRead: 4_200_000, CacheWrite: 310_000, CacheWrite1h: 12_000, Output: 88_000}, Cost: 6.40},
			{Start: at, Model: "claude-haiku-4-5", Run: "1", Agent: "claude"}: {Answers: 7, Tokens: session.Tokens{Input: 2_000, Output: 300}, Cost: 0.0035},
		}},
		{ID: "web-5a6b7c8d", Address: `session.worker["web"]`, Slices: map[usage.Slice]usage.Sum{
			{Start: at.Add(24 * time.Hour), Model: "in-house", Run: "1", Agent: "codex"}: {Answers: 3, Tokens: session.Tokens{Input: 40_000, Output: 1_500, Reasoning: 900}, Unpriced: 41_500},
		}},
	}, status.UsageQuery{By: status.BySession, Days: time.UTC})
	d.Prices = "2026-03-01"
	d.Budgets = []api.BudgetUse{
		{Name: "night", Share: 0.6, Text: "2,777,000 of 4,500,000 tokens"},
		{Name: "run", Session: `session.worker["web"]`, Share: 1.04, Text: "41,500 of 40,000 tokens"},
	}
	return d
}

func TestUsage(t *testing.T) {
	golden(t, "usage.txt", func(w io.Writer) error { return Usage(w, Style{}, sampleUsage()) })
	golden(t, "usage-80.txt", func(w io.Writer) error { return Usage(w, Style{Width: 80}, sampleUsage()) })
	var b bytes.Buffer
	d := sampleUsage()
	d.Rows[1].Name = "=1+1\x1b[31m"
	if err := UsageCSV(&b, d); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if want := "session.api,127,11000,4200000,310000,12000,88300,0,4621300,6.403500,0"; lines[1] != want {
		t.Errorf("%q, want %q", lines[1], want)
	}
	if strings.HasPrefix(lines[2], "=") || strings.Contains(lines[2], "\x1b") || !strings.HasSuffix(lines[2], ",900,41500,,41500") {
		t.Errorf("%q", lines[2])
	}
	d.Budgets[0].Share = 0.999
	var text bytes.Buffer
	if err := Usage(&text, Style{}, d); err != nil || !strings.Contains(text.String(), " 99 % ") {
		t.Errorf("a budget that is not used up: %v\n%s", err, text.String())
	}
}
