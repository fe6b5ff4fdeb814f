package config

import (
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/config/expr"
	"github.com/agentform/agentform/session"
)

// TestWatchMemory: so does one that takes too much memory.
func TestWatchMemory(t *testing.T) {
	_, ds := load(write(t, map[string]string{"agentform.hcl": `locals {
  n    = range(1000)
  many = [for a in local.n : [for b in local.n : "${a}-${b}"]]
}
`}), expr.Limits{Time: time.Minute, Memory: 8 << 20})
	if len(ds) != 1 || !strings.Contains(ds[0].Detail, "more than 8 MiB of memory") || ds[0].Range == nil || ds[0].Range.Start.Line != 3 {
		t.Fatalf("%+v", ds)
	}
}

// TestWatch: a load that takes too long ends with an error at what it evaluated, and
// returns the settings, which were known before.
func TestWatch(t *testing.T) {
	m, ds := load(write(t, map[string]string{"agentform.hcl": `agentform {
  data_dir = "elsewhere"
}
session "slow" {
  agent  = "claude"
  branch = "slow"
  prompt = join(",", [for a in range(1000) : join("", [for b in range(1000) : upper("${a}${b}")])])
}
`}), expr.Limits{Time: 50 * time.Millisecond, Memory: 1 << 30})
	if len(ds) != 1 || ds[0].Summary != "Evaluation takes too much" || ds[0].Range == nil || ds[0].Range.Start.Line != 7 || ds[0].Snippet.Context != `session "slow"` {
		t.Fatalf("%+v", ds)
	}
	if !session.HasErrors(ds) || !strings.HasSuffix(m.DataDir, "/elsewhere") || m.Root == "" || m.Sessions != nil {
		t.Errorf("%+v", m)
	}
}
