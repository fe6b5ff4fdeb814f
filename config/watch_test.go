package config

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestWatch: a load that takes too long ends with an error at what it evaluated, and
// returns the settings, which were known before.
func TestWatch(t *testing.T) {
	defer func(d time.Duration) { maxTime = d }(maxTime)
	maxTime = 50 * time.Millisecond
	m, ds := Load(write(t, map[string]string{"agentform.hcl": `agentform {
  data_dir = "elsewhere"
}
session "slow" {
  agent  = "claude"
  branch = "slow"
  prompt = join(",", [for a in range(1000) : join("", [for b in range(1000) : upper("${a}${b}")])])
}
`}))
	if len(ds) != 1 || ds[0].Summary != "Evaluation takes too much" || ds[0].Range == nil || ds[0].Range.Start.Line != 7 || ds[0].Snippet.Context != `session "slow"` {
		t.Fatalf("%+v", ds)
	}
	if !session.HasErrors(ds) || !strings.HasSuffix(m.DataDir, "/elsewhere") || m.Root == "" || m.Sessions != nil {
		t.Errorf("%+v", m)
	}
}
