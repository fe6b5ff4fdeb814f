//go:build agents && kubernetes

package agenttest_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/internal/test/modelserver"
)

// nearest returns this machine's address as the API server's network sees it.
func nearest(t *testing.T, kubeconfig string) string {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("udp", net.JoinHostPort(server.Hostname(), "443")) // nothing is sent
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String()
}

// From the manifest to Codex in a pod and back: its home is on the volume, and the workspace's
// setup configures it. Its rollout is read from a copy: its turns and its usage are known, and
// after a restart in the same pod it goes on with its conversation. Its commit comes back.
func TestCodexInAPodByAgentform(t *testing.T) {
	cluster := kubetest.Open(t)
	lab := agenttest.New(t, "codex")
	found, err := filepath.Glob(filepath.Join(os.Getenv(agenttest.Folder), "node_modules/@openai/codex-*/vendor/*/bin/codex"))
	if err != nil || len(found) != 1 {
		t.Fatalf("Codex's own binary: %q, %v", found, err)
	}
	layer, err := dockertest.Layer(append(dockertest.Programs(), found[0])...)
	if err != nil {
		t.Fatal(err)
	}
	const image = "localhost/agentform-codex:1"
	archive, err := kubetest.Archive(image, layer, map[string]any{"Env": dockertest.Variables})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Import(t, archive)
	model, err := modelserver.Start(nearest(t, cluster.Kubeconfig()) + ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	settings, err := os.ReadFile(filepath.Join(lab.Home, ".codex/config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(settings), lab.Model.URL, model.URL)
	lab.Model = model
	lab.Spec.Command = []string{found[0]}
	lab.Env["KUBECONFIG"] = cluster.Kubeconfig()
	p := lab.Project(fmt.Sprintf(`
  runtime = runtime.kubernetes.team
  workspace {
    setup = ["sh", "-c", "mkdir -p ~/.codex && printf %%s \"$1\" >~/.codex/config.toml", "sh", %q]
  }
}
runtime "kubernetes" "team" {
  namespace = %q
  image     = %q
  memory    = "1GiB"

  schedule_timeout = "1m" # of a busy cluster

  storage {
    class = "local"
    size  = "1GiB"
  }
`, text, cluster.Namespace(t), image))
	p.Edit("trust   = true", "trust   = true\n  permissions = \"all\"")
	if out, err := exec.Command("git", "-C", lab.Dir, "-c", "user.name=tester", "-c", "user.email=tester@example.invalid", "commit", "-qam", "all").CombinedOutput(); err != nil {
		t.Fatalf("git commit: %v: %s", err, out)
	}
	t.Cleanup(func() { p.Do("destroy", "--auto-approve") })
	p.Do("apply", "--auto-approve", "--wait")
	const prompt = "go [[tool bash: echo it >made && git add made && git -c user.name=a -c user.email=a@b commit -qm made]] [[text It is made.]]"
	p.Do("send", "api", prompt)
	turned := p.Until("its first turn has ended", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 1 })
	if screen := p.Do("capture", "api"); !strings.Contains(screen, "It is made.") {
		lab.Moved("its screen has the answer", "%s", screen)
	}
	pod := p.Do("exec", "api", "--", "cat", "/proc/sys/kernel/random/boot_id", "/etc/hostname")
	p.Do("restart", "api", "--wait")
	if again := p.Until("it is idle again", activity("idle")); again.Conversation != turned.Conversation || turned.Conversation == "" {
		t.Errorf("conversation %q, before the restart %q", again.Conversation, turned.Conversation)
	}
	if again := p.Do("exec", "api", "--", "cat", "/proc/sys/kernel/random/boot_id", "/etc/hostname"); again != pod {
		t.Errorf("it is in pod %q, before the restart in %q", again, pod)
	}
	const more = "more [[text More.]]"
	p.Do("send", "api", more)
	p.Until("its second turn has ended", func(s agenttest.Status) bool { return s.Activity == "idle" && s.Turns == 2 })
	turns := model.Turns()
	if got := turns[len(turns)-1].Prompts; !slices.Equal(got, []string{prompt, more}) {
		t.Errorf("the last request has %q", got)
	}
	var usage api.UsageDocument
	if out := p.Do("usage", "--json"); json.Unmarshal([]byte(out), &usage) != nil || usage.Total.Answers != 3 {
		t.Errorf("usage of three answers: %s", out)
	}
	if log := p.Do("logs", "api"); !strings.Contains(log, "More.") {
		t.Errorf("logs: %s", log)
	}
	if out := p.Do("fetch", "api"); !strings.Contains(out, "1 new commit") {
		t.Errorf("fetch: %s", out)
	}
	p.Do("land", "api")
	if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err != nil {
		t.Error(err)
	}
}
