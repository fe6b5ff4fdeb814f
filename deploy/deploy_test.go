//go:build kubernetes

// Package deploy tests the manifests of the hub in a cluster.
package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/internal/test/wait"
)

// TestHub deploys two hubs, which start the agent of a session again when it is killed. The
// one that acts is killed, cut off and ended: each time the other one takes over, no two act,
// and the session has one agent.
func TestHub(t *testing.T) {
	cluster := kubetest.Open(t)
	namespace := cluster.Namespace(t)
	programs := t.TempDir()
	cluster.Import(t, image(t, programs))
	s := newSession(t, cluster, namespace, programs)
	cluster.Kubectl(t, "create", "secret", "generic", "agentform-hub", "-n", namespace, "--from-literal=token="+strings.Repeat("0123456789abcdef", 2))
	cluster.Kubectl(t, "apply", "-k", overlay(t, namespace, s.settings))
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := cluster.TryKubectl("", "logs", "-n", namespace, "-l", "app.kubernetes.io/name=agentform-hub", "--prefix", "--tail", "20")
			t.Log(out)
		}
	})
	h := hubs{cluster, namespace}
	for _, c := range []struct {
		name string
		end  func(pod string)
	}{
		// The kubelet restarts the container at once, and the lock of before has to expire.
		{"killed", func(pod string) { cluster.KillContainer(t, namespace, pod) }},
		{"ended", func(pod string) {
			cluster.Kubectl(t, "delete", "pod", pod, "-n", namespace, "--wait=false")
		}},
		{"cut off", func(pod string) {
			cluster.Cut(t, cluster.Kubectl(t, "get", "pod", pod, "-n", namespace, "-o", "jsonpath={.spec.nodeName}"))
		}},
	} {
		h.ready(t)
		s.kill(t)
		pod, before := h.holder(t)
		began := time.Now()
		c.end(pod)
		wait.For(t, c.name+": another hub leads", func() (any, bool) {
			_, now := h.holder(t)
			return now, now != before && now != ""
		})
		t.Logf("%s: another hub leads after %v", c.name, time.Since(began).Round(100*time.Millisecond))
		if c.name == "cut off" { // it waits by itself, and its container was not restarted
			restarts := func() string {
				return cluster.Kubectl(t, "get", "pod", pod, "-n", namespace, "-o", "jsonpath={.status.containerStatuses[0].restartCount}")
			}
			was := restarts()
			for _, node := range kubetest.Nodes {
				cluster.Heal(t, node)
			}
			wait.For(t, "the hub that was cut off waits", func() (any, bool) {
				out, err := cluster.TryKubectl("", "logs", pod, "-n", namespace)
				return []any{out, err}, err == nil && strings.Contains(out, "another hub leads, and this one waits")
			})
			if now := restarts(); now != was {
				t.Errorf("its container was restarted: %s times, and %s before", now, was)
			}
		}
	}
	h.ready(t)
	s.kill(t)
	if out, err := s.run("plan", "--detailed-exitcode"); err != nil {
		t.Errorf("what the hubs did is not what was applied: %v: %s", err, out)
	}
}

// remote is a session in the cluster, which was applied on this machine.
type remote struct {
	cluster   kubetest.Cluster
	namespace string
	programs  string // the directory of agentform
	dir       string // of the project
	settings  string // its block agentform
}

func newSession(t *testing.T, cluster kubetest.Cluster, namespace, programs string) remote {
	t.Helper()
	layer, err := dockertest.Layer(dockertest.Programs()...)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := kubetest.Archive("localhost/agentform-session:1", layer, map[string]any{"Env": dockertest.Variables})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Import(t, archive)
	dir, err := os.MkdirTemp("/tmp", "afd") // a path that a socket can have
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	block, err := os.ReadFile("kubernetes/agentform.hcl")
	if err != nil {
		t.Fatal(err)
	}
	s := remote{cluster, namespace, programs, dir, strings.Replace(string(block), `namespace = "agents"`, fmt.Sprintf("namespace = %q", namespace), 1)}
	manifest := s.settings + fmt.Sprintf(`
runtime "kubernetes" "team" {
  namespace = %q
  image     = "localhost/agentform-session:1"
  storage {
    class = "local"
    size  = "1MiB"
  }
}

agent "idle" {
  command    = ["sleep", "100000"]
  prompt_via = "none"
  restart {
    attempts = 100
    backoff {
      initial = "100ms"
      factor  = 1
    }
  }
}

session "api" {
  agent   = agent.idle
  runtime = runtime.kubernetes.team
  workspace {
    mode = "plain"
  }
}
`, namespace)
	if err := os.WriteFile(filepath.Join(dir, "agentform.hcl"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := s.run("apply", "--auto-approve"); err != nil {
		t.Fatalf("apply: %v: %s", err, out)
	}
	return s
}

// run runs agentform on this machine.
func (s remote) run(args ...string) (string, error) {
	c := exec.Command(filepath.Join(s.programs, "agentform"), args...)
	c.Dir = s.dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "XDG_RUNTIME_DIR=" + s.dir, "KUBECONFIG=" + s.cluster.Kubeconfig()}
	out, err := c.CombinedOutput()
	return string(out), err
}

// kill kills the agent and waits until a hub has started it again.
func (s remote) kill(t *testing.T) {
	t.Helper()
	var run string
	wait.For(t, "the session has one agent", func() (any, bool) {
		now, ready := s.running(t)
		agents := s.agents()
		run = now
		return fmt.Sprintf("run %s, ready %v, agents %d", now, ready, agents), ready && agents == 1
	})
	began := time.Now()
	if _, err := s.exec(`for p in /proc/[0-9]*; do read name <$p/comm; if [ "$name" = sleep ]; then kill -9 ${p#/proc/}; fi; done`); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "a hub has started the agent again", func() (any, bool) {
		now, ready := s.running(t)
		agents := s.agents()
		return fmt.Sprintf("run %s, was %s, ready %v, agents %d", now, run, ready, agents), now != run && ready && agents == 1
	})
	t.Logf("the agent runs again %v after it was killed", time.Since(began).Round(100*time.Millisecond))
}

// exec runs a script in the session's pod.
func (s remote) exec(script string) (string, error) {
	pod := s.pod()
	return s.cluster.TryKubectl("", "exec", "-n", s.namespace, pod, "--", "sh", "-c", script)
}

func (s remote) pod() string {
	out, _ := s.cluster.TryKubectl("", "get", "pods", "-n", s.namespace, "-l", "agentform.project", "-o", "jsonpath={.items[0].metadata.name}") // fails if there is none
	return out
}

// agents returns how many agents run in the session's pod.
func (s remote) agents() int {
	out, err := s.exec("cat /proc/[0-9]*/comm 2>/dev/null; true")
	if err != nil {
		return 0
	}
	return strings.Count("\n"+out, "\nsleep\n")
}

// running returns the last run of the session, and whether its agent is alive.
func (s remote) running(t *testing.T) (run string, ready bool) {
	t.Helper()
	text := s.cluster.Kubectl(t, "get", "statefulset", "-n", s.namespace, "-l", "agentform.project", "-o", `jsonpath={.items[0].metadata.annotations.agentform\.record}`)
	var record struct{ Mark struct{ Run string } }
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out, err := s.cluster.TryKubectl("", "get", "pod", s.pod(), "-n", s.namespace, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
	return record.Mark.Run, err == nil && out == "True"
}

// image builds the programs in a directory, and of them the image of the hub.
func image(t *testing.T, dir string) []byte {
	t.Helper()
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir, "../cmd/agentform", "../cmd/agentform-shim")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file := filepath.Join(dir, "image.tar")
	if out, err := exec.Command("../scripts/image.sh", file, "localhost/agentform:test", dir).CombinedOutput(); err != nil {
		t.Fatalf("image.sh: %v: %s", err, out)
	}
	archive, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// overlay returns a kustomization with another namespace, image and manifest.
func overlay(t *testing.T, namespace, settings string) string {
	t.Helper()
	base, err := filepath.Abs("kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "overlay")
	if err := os.CopyFS(filepath.Join(dir, "base"), os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"agentform.hcl": settings,
		"kustomization.yaml": `
namespace: ` + namespace + `
resources: [base]
images:
  - name: agentform
    newName: localhost/agentform
    newTag: test
configMapGenerator:
  - name: agentform-hub
    behavior: replace
    files: [agentform.hcl]
patches:
  - target: {kind: Deployment}
    patch: '[{"op": "add", "path": "/spec/template/spec/containers/0/imagePullPolicy", "value": "Never"}]'
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

type hubs struct {
	cluster   kubetest.Cluster
	namespace string
}

// holder returns the pod of the hub that leads, and the id of its lock.
func (h hubs) holder(t *testing.T) (pod, id string) {
	t.Helper()
	out, err := h.cluster.TryKubectl("", "get", "lease", "agentform-state-agents-hub", "-n", h.namespace, "-o", "json")
	if err != nil {
		return "", "" // it is released
	}
	var lease struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct{ HolderIdentity string }
	}
	if err := json.Unmarshal([]byte(out), &lease); err != nil {
		t.Fatal(err)
	}
	var info struct{ Who string }
	if err := json.Unmarshal([]byte(lease.Metadata.Annotations["agentform.dev/lock"]), &info); err != nil {
		t.Fatal(err)
	}
	_, pod, _ = strings.Cut(info.Who, "@")
	return pod, lease.Spec.HolderIdentity
}

// ready waits until two hubs are ready, of which one leads.
func (h hubs) ready(t *testing.T) {
	t.Helper()
	wait.For(t, "two hubs are ready", func() (any, bool) {
		_, id := h.holder(t)
		ready := h.cluster.Kubectl(t, "get", "deployment", "agentform-hub", "-n", h.namespace, "-o", "jsonpath={.status.readyReplicas}")
		return fmt.Sprintf("%s ready, the lock is %q", ready, id), id != "" && ready == "2"
	})
}
