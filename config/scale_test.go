package config

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// body is a session's content in which nearly everything is an expression; key
// is how it calls itself.
func body(key string) string {
	return fmt.Sprintf(`  agent      = agent.mine
  role       = "builder"
  priority   = 3
  branch     = "${var.prefix}/${%[1]s}"
  prompt     = "Work in ${%[1]s} on ${self.branch}, ${local.text}."
  env        = { AREA = %[1]s, LOG = "debug" }
  args       = ["--area", %[1]s]
  labels     = { team = local.text }
  secrets    = ["KEY"]
  depends_on = [session.base]
  timeout    = "4h"
  restart {
    attempts = 3
    backoff {
      initial = "1s"
    }
  }
  health {
    interval = "20s"
  }
  lifecycle {
    ignore_changes = [labels]
  }
}
`, key)
}

// many is a manifest of n sessions, in one block or each written out.
func many(n int, each bool) string {
	var b strings.Builder
	b.WriteString(`
variable "prefix" {
  default = "agents"
}
locals {
  text = upper("team")
}
agent "mine" {
  base = "claude"
}
session "base" {
  agent  = "claude"
  branch = "base"
}
`)
	if !each {
		for i := range n - 1 {
			fmt.Fprintf(&b, "session \"w%d\" {\n%s", i, body(fmt.Sprintf(`"k%d"`, i)))
		}
		return b.String()
	}
	b.WriteString("session \"w\" {\n  for_each = toset([\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "    \"k%d\",\n", i)
	}
	b.WriteString("  ])\n" + body("each.key"))
	return b.String()
}

// TestLinear loads 400 and 2000 sessions. What is allocated must grow as they
// do: a copy of all for each would show as 25 times as much. BenchmarkLoad
// measures the time.
func TestLinear(t *testing.T) {
	for _, each := range []bool{true, false} {
		cost := func(n int) uint64 {
			o := write(t, map[string]string{"agentform.hcl": many(n, each)})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if got := len(good(t, o).Sessions); got != n {
				t.Fatalf("%d sessions of %d", got, n)
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		if small, large := cost(400), cost(2000); large > 6*small {
			t.Errorf("for_each %v: 400 sessions allocate %d bytes, 2000 allocate %d", each, small, large)
		}
	}
}

// TestLinearAround: what is said about 5000 sessions costs no more than they do.
func TestLinearAround(t *testing.T) {
	around := func(n int) string {
		var keys strings.Builder
		for i := range n - 1 {
			fmt.Fprintf(&keys, "    k%d = %d\n", i, i)
		}
		return many(n, true) + "locals {\n  keys = {\n" + keys.String() + "  }\n}\n" + `
moved {
  for_each = local.keys
  from     = session.old[each.value]
  to       = session.w[each.key]
}
removed {
  for_each = local.keys
  from     = session.older[each.key]
}
import {
  for_each = local.keys
  to       = session.w[each.key]
  id       = "tmux:default/${each.key}"
}
output "branches" {
  value = { for k, s in session.w : k => s.branch }
}
check "all" {
  assert {
    condition     = alltrue([for s in values(session.w) : startswith(s.branch, "agents/")])
    error_message = "Some branch is elsewhere."
  }
}
`
	}
	cost := func(n int) uint64 {
		o := write(t, map[string]string{"agentform.hcl": around(n)})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m := good(t, o)
		runtime.ReadMemStats(&after)
		if len(m.Moves) != n-1 || len(m.Imports) != n-1 || len(m.Removed) != n-1 || len(m.Outputs) != 1 {
			t.Fatalf("%d moves, %d imports, %d removals, %d outputs", len(m.Moves), len(m.Imports), len(m.Removed), len(m.Outputs))
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if small, large := cost(500), cost(2500); large > 7*small {
		t.Errorf("500 sessions allocate %d bytes, 2500 allocate %d", small, large)
	}
}

// TestWrongInMany: a mistake in a block of many instances is one problem.
func TestWrongInMany(t *testing.T) {
	manifest := strings.Replace(many(5000, true), `"4h"`, `"soon"`, 1)
	if _, ds := Load(write(t, map[string]string{"agentform.hcl": manifest})); len(ds) != 1 {
		t.Errorf("%d problems", len(ds))
	}
}

// TestManyOnMany: each of 1000 sessions depends on all of 1000 others, and what
// each waits for is kept once.
func TestManyOnMany(t *testing.T) {
	o := write(t, map[string]string{"agentform.hcl": `
session "a" {
  count  = 1000
  agent  = "claude"
  branch = "a${count.index}"
}
session "b" {
  count      = 1000
  agent      = "claude"
  branch     = "b${count.index}"
  depends_on = [session.a]
}
`})
	m := good(t, o)
	first, last := m.Sessions[1000].DependsOn, m.Sessions[1999].DependsOn
	if len(first) != 1000 || &first[0] != &last[0] {
		t.Errorf("%d dependencies, kept once: %v", len(first), &first[0] == &last[0])
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		for _, each := range []bool{true, false} {
			b.Run(fmt.Sprintf("n=%d/for_each=%v", n, each), func(b *testing.B) {
				o := write(b, map[string]string{"agentform.hcl": many(n, each)})
				b.ReportAllocs()
				for b.Loop() {
					good(b, o)
				}
			})
		}
	}
}
