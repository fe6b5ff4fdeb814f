//go:build kubernetes

// Package deploy tests the manifests of the hub in a cluster.
package deploy

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/kubetest"
)

// TestHub deploys two hubs. The one that acts is killed, cut off and ended: each time the
// other one takes over, and no two act.
func TestHub(t *testing.T) {
	cluster := kubetest.Open(t)
	namespace := cluster.Namespace(t)
	cluster.Import(t, image(t))
	cluster.Kubectl(t, "create", "secret", "generic", "agentform-hub", "-n", namespace, "--from-literal=token="+strings.Repeat("0123456789abcdef", 2))
	cluster.Kubectl(t, "apply", "-k", overlay(t, namespace))
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
		pod, before := h.holder(t)
		began := time.Now()
		c.end(pod)
		wait(t, time.Minute, c.name+": another hub leads", func() bool {
			_, now := h.holder(t)
			return now != before && now != ""
		})
		took := time.Since(began)
		t.Logf("%s: another hub leads after %v", c.name, took.Round(100*time.Millisecond))
		if limit := time.Duration(float64(15*time.Second) * busy(t)); took > limit {
			t.Errorf("%s: it took more than %v", c.name, limit)
		}
		if c.name == "cut off" { // it has ended by itself, and is one that waits
			for _, node := range kubetest.Nodes {
				cluster.Heal(t, node)
			}
			wait(t, time.Minute, "the hub that was cut off has ended", func() bool {
				out, err := cluster.TryKubectl("", "logs", pod, "-n", namespace, "--previous")
				return err == nil && strings.Contains(out, "another hub acts now")
			})
		}
	}
	h.ready(t)
}

// busy returns by how much more this machine has to do than it can: limits of time grow
// with it.
func busy(t *testing.T) float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	var load float64
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		t.Fatal(err)
	}
	return max(1, load/float64(runtime.NumCPU()))
}

// image builds the image of the hub.
func image(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
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
func overlay(t *testing.T, namespace string) string {
	t.Helper()
	base, err := filepath.Abs("kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "overlay")
	if err := os.CopyFS(filepath.Join(dir, "base"), os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(base, "agentform.hcl"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"agentform.hcl": strings.Replace(string(manifest), `namespace = "agents"`, "namespace = \""+namespace+"\"", 1),
		"kustomization.yaml": `
namespace: ` + namespace + `
resources: [base]
images:
  - name: registry.example/agentform
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
	wait(t, 2*time.Minute, "two hubs are ready", func() bool {
		_, id := h.holder(t)
		return id != "" && h.cluster.Kubectl(t, "get", "deployment", "agentform-hub", "-n", h.namespace, "-o", "jsonpath={.status.readyReplicas}") == "2"
	})
}

func wait(t *testing.T, most time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(most); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v: %s", most, what)
		}
	}
}
