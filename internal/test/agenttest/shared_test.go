//go:build agents

package agenttest_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/internal/test/wait"
)

// TestStopOneOfTwoAdoptedCodex checks that stop leaves the daemon of Codex alone, which is
// below the one that was started first and serves the others too: without it they look for
// it, also in the middle of a turn.
func TestStopOneOfTwoAdoptedCodex(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "codex")
	p := lab.Project("")
	socket := filepath.Join(lab.Home, "people")
	tmux := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	shows := func(name, text string) {
		t.Helper()
		wait.For(t, name+" shows "+text, func() (any, bool) {
			screen := tmux("capture-pane", "-p", "-t", name)
			return screen, strings.Contains(screen, text)
		})
	}
	for _, name := range []string{"one", "two"} {
		command := []string{"new-session", "-d", "-s", name, "-c", lab.Dir, "env", "-i"}
		for name, value := range lab.Env {
			command = append(command, name+"="+value)
		}
		tmux(append(command, lab.Spec.Command...)...)
		shows(name, "gpt-5 default")
		p.Do("adopt", name, "tmux:"+socket+"/"+name)
	}
	daemon := func() string {
		out, _ := exec.Command("pgrep", "-f", lab.Home+".*app-server").Output()
		return string(out)
	}
	before := daemon()
	if before == "" {
		lab.Moved("a Codex that a person starts has a daemon", "no process of that name")
	}
	p.Do("stop", "one")
	if now := daemon(); now != before {
		t.Errorf("the daemon was %q, and is %q", before, now)
	}
	p.Do("send", "two", "go on [[text Gone on.]] [[delay 4m]]")
	shows("two", "• Gone on.")

	for pid := range strings.FieldsSeq(daemon()) {
		_ = exec.Command("kill", "-9", pid).Run()
	}
	wait.For(t, "it works on without the daemon", func() (any, bool) {
		out := p.Do("status", "two", "--json")
		return out + tmux("capture-pane", "-p", "-t", "two"), strings.Contains(out, "Reconnecting to server") && strings.Contains(out, `"activity": "working"`)
	})
	p.Do("stop", "two")
}
