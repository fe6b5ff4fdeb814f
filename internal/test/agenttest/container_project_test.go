//go:build agents

package agenttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/internal/test/dockertest"
)

// From the manifest to Codex in a container and back. Its home is mounted where it is
// here, so that its rollout is read as that of any other session; until its first turn
// there is none. A restart goes on with the conversation in the same container.
func TestCodexInAContainerByAgentform(t *testing.T) {
	t.Parallel()
	lab := agenttest.New(t, "codex")
	found, err := filepath.Glob(filepath.Join(os.Getenv(agenttest.Folder), "node_modules/@openai/codex-*/vendor/*/bin/codex"))
	if err != nil || len(found) != 1 {
		t.Fatalf("Codex's own binary: %q, %v", found, err)
	}
	image, err := dockertest.Build(dockertest.Programs()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	lab.Spec.Command = []string{"/opt/codex/bin/codex"}
	p := lab.Project(fmt.Sprintf(`
  runtime = runtime.docker.box
}
runtime "docker" "box" {
  image   = %q
  network = "host"
  env     = { HOME = %q }
  mounts  = [
    { source = %q, target = "/opt/codex", read_only = true },
    { source = %q, target = %q },
  ]
`, image, lab.Home, filepath.Dir(filepath.Dir(found[0])), lab.Home, lab.Home))
	t.Cleanup(func() { p.Do("destroy", "--auto-approve") })
	p.Do("apply", "--auto-approve", "--wait")
	first := p.Until("it is unobserved, and lives", activity("unobserved"))
	if first.State != "running" || first.Turns != 0 {
		t.Errorf("before its first turn it is %+v", first)
	}
	const prompt = "go [[text It is here.]]"
	p.Do("send", "api", prompt)
	turned := p.Until("its first turn has ended", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
	if log := p.Do("logs", "api"); !strings.Contains(log, "It is here.") {
		lab.Moved("a rollout in a mounted home is that of any other session", "%s", log)
	}
	containers := func() string {
		out, err := dockertest.Docker(nil, "ps", "-q", "--no-trunc", "--filter", "ancestor="+image)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := containers()
	p.Do("restart", "api", "--wait")
	again := p.Until("it is idle again", func(s agenttest.Status) bool { return s.Activity == "idle" })
	if after := containers(); after != before || before == "" {
		t.Errorf("it is in container %q, before the restart %q", after, before)
	}
	if again.Conversation != turned.Conversation || turned.Conversation == "" {
		t.Errorf("conversation %q, before the restart %q", again.Conversation, turned.Conversation)
	}
	p.Do("send", "api", "more [[text More.]]")
	p.Until("its second turn has ended", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 2 })
	turns := lab.Model.Turns()
	if want := []string{prompt, "more [[text More.]]"}; !slices.Equal(turns[len(turns)-1].Prompts, want) {
		t.Errorf("the last request has %q, want %q", turns[len(turns)-1].Prompts, want)
	}
}
