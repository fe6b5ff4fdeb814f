//go:build real

package torture

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// wanted is a manifest: sessions by name. What changes in one says how far the change
// reaches.
type wanted map[string]entry

type entry struct {
	desired string // another one: pause, resume, stop, start
	prompt  int    // another one: a restart with a fresh conversation
	branch  int    // another one: a replacement; 0: it works without git
	role    int    // another one: in place
	freeze  bool   // pausing is standing still
}

// names are of all sessions that there can be; some work in a worktree, some without git.
var names = []string{"api", "docs", "infra", "mail", "shop", "web"}

func newEntry(r *rand.Rand, name string) entry {
	e := entry{desired: "running", freeze: r.IntN(2) == 0}
	if slices.Index(names, name)%3 != 0 {
		e.branch = 1
	}
	return e
}

// change changes one to four sessions: they come, go, and become others.
func (w wanted) change(r *rand.Rand) {
	for range 1 + r.IntN(4) {
		name := names[r.IntN(len(names))]
		e, there := w[name]
		switch act := r.IntN(6); {
		case !there:
			e = newEntry(r, name)
		case act == 0 && len(w) > 1:
			delete(w, name)
			continue
		case act == 1:
			e.prompt++
		case act == 2 && e.branch > 0:
			e.branch = 1 + e.branch%3
		case act == 3:
			e.role++
		default:
			e.desired = []string{"running", "running", "paused", "stopped"}[r.IntN(4)]
		}
		w[name] = e
	}
}

// text is the manifest as agentform reads it.
func (w wanted) text(lock func(string) string) string {
	var b strings.Builder
	fmt.Fprint(&b, "agentform {\n  project     = \"shop\"\n  parallelism = 4\n  max_running = 100\n}\n")
	for _, name := range slices.Sorted(maps.Keys(w)) {
		e, mode := w[name], "detach"
		if e.freeze {
			mode = "freeze"
		}
		fmt.Fprintf(&b, `
agent %[1]q {
  command = ["fakeagent", "-alone", %[2]q]
  ready   = "ready>"
  restart {
    attempts       = 1000000
    escalate_after = 1000000
    backoff {
      initial = "50ms"
      factor  = 1
    }
  }
}

session %[1]q {
  agent   = agent.%[1]s
  role    = "role%[4]d"
  prompt  = "do %[5]d"
  desired = %[6]q
  pause {
    mode = %[3]q
  }
`, name, lock(name), mode, e.role%3, e.prompt, e.desired)
		if e.branch == 0 {
			fmt.Fprint(&b, "  workspace {\n    mode       = \"plain\"\n    on_destroy = \"remove_clean\"\n  }\n}\n")
		} else {
			fmt.Fprintf(&b, "  branch  = \"agents/%s-%d\"\n  workspace {\n    on_destroy = \"remove_clean\"\n  }\n}\n", name, e.branch)
		}
	}
	return b.String()
}

// live are the sessions whose agents are to be alive.
func (w wanted) live() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if w[name].desired != "stopped" {
			out = append(out, name)
		}
	}
	return out
}
