package kubetest

import (
	"bufio"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
)

// Cluster is a running cluster. Its nodes are node-1 and node-2, its storage class is local:
// a node has 60 volumes of 20Gi with the access mode ReadWriteOncePod. The class never has
// none.
type Cluster struct {
	dir string
}

// Nodes are the names of the nodes.
var Nodes = []string{"node-1", "node-2"}

// Open returns the cluster that the tests run with. It fails the test without one.
func Open(t *testing.T) Cluster {
	t.Helper()
	dir := os.Getenv("AGENTFORM_KUBE")
	if dir == "" {
		t.Fatal("no cluster: run this with make check-kubernetes, or below go run ./internal/test/kubetest/cluster")
	}
	return Cluster{dir}
}

// Start returns a cluster that ends with the test.
func Start(t *testing.T) Cluster {
	t.Helper()
	c := exec.Command("go", "run", "github.com/agentform/agentform/internal/test/kubetest/cluster", "sh", "-c", `echo "$AGENTFORM_KUBE"; cat`)
	c.Stderr = os.Stderr
	alive, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(alive.Close(), c.Wait()); err != nil {
			t.Errorf("the cluster: %v", err)
		}
	})
	dir, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the cluster does not start: %v", err)
	}
	return Cluster{strings.TrimSpace(dir)}
}

// Kubeconfig returns the path of an administrator's settings.
func (c Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// Kubeconfig returns the path of an administrator's settings, for a process of a test.
func Kubeconfig() string { return Cluster{os.Getenv("AGENTFORM_KUBE")}.Kubeconfig() }

// Dir returns the value of AGENTFORM_KUBE.
func (c Cluster) Dir() string { return c.dir }

// Host returns an address of this machine that pods reach.
func (c Cluster) Host(t *testing.T) string {
	t.Helper()
	server := c.Kubectl(t, "config", "view", "-o", "jsonpath={.clusters[0].cluster.server}") // https://10.X.0.2:443
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	network, ok := strings.CutSuffix(u.Hostname(), ".2")
	if !ok {
		t.Fatalf("the API server is %s, not the second address of its network", server)
	}
	return network + ".1"
}

// Etcd returns the directory with all that the cluster stores.
func (c Cluster) Etcd() string { return filepath.Join(c.dir, "etcd") }

// Namespace makes a namespace that is removed after the test.
func (c Cluster) Namespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("t-%s", strconv.FormatInt(time.Now().UnixNano(), 36))
	c.Kubectl(t, "create", "namespace", name)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := c.TryKubectl("", "get", "events,pods,pvc", "-n", name)
			t.Logf("namespace %s:\n%s", name, out)
		}
		if _, err := c.TryKubectl("", "delete", "namespace", name, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	return name
}

// Kubectl runs kubectl as an administrator and returns what it prints.
func (c Cluster) Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.TryKubectl("", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Apply creates or changes the objects of a manifest.
func (c Cluster) Apply(t *testing.T, manifest string, args ...string) {
	t.Helper()
	if _, err := c.TryKubectl(manifest, append([]string{"apply", "-f", "-"}, args...)...); err != nil {
		t.Fatal(err)
	}
}

// TryKubectl is Kubectl with an input, for commands that may fail.
func (c Cluster) TryKubectl(input string, args ...string) (string, error) {
	path, err := os.Readlink(filepath.Join(c.dir, "kube"))
	if err != nil {
		return "", err
	}
	k := exec.Command(path, append([]string{"kubectl", "--kubeconfig", c.Kubeconfig()}, args...)...)
	k.Stdin = strings.NewReader(input)
	out, err := k.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// Import gives an image, as docker save writes it, to both nodes.
func (c Cluster) Import(t *testing.T, archive []byte) {
	t.Helper()
	for _, node := range Nodes {
		if err := Import(filepath.Join(c.dir, node), archive); err != nil {
			t.Fatal(err)
		}
	}
}

// Kill ends a program with SIGKILL, and keeps it from running until Start or the end of the
// test: apiserver, controller-manager, scheduler, node-1 (its kubelet), node-1-containerd.
func (c Cluster) Kill(t *testing.T, program string) {
	t.Helper()
	base := filepath.Join(c.dir, program)
	if err := os.WriteFile(base+".hold", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Start(t, program) })
	wait.For(t, program+" has ended", func() (any, bool) {
		text, err := os.ReadFile(base + ".pid")
		if os.IsNotExist(err) {
			return nil, true
		}
		_ = exec.Command("kill", "-KILL", string(text)).Run() // it may have just exited
		return string(text), false
	})
}

// Start lets a program that was killed run again. It waits for the API server.
func (c Cluster) Start(t *testing.T, program string) {
	t.Helper()
	if err := os.Remove(filepath.Join(c.dir, program+".hold")); err != nil {
		return // it runs
	}
	if program == "apiserver" {
		wait.For(t, "the API server answers", func() (any, bool) {
			_, err := c.TryKubectl("", "get", "--raw", "/readyz")
			return err, err == nil
		})
	}
}

// Suspend stops a program of those of Kill with SIGSTOP, until Resume or the end of the test: it
// accepts connections and never answers.
func (c Cluster) Suspend(t *testing.T, program string) {
	t.Helper()
	t.Cleanup(func() { c.Resume(t, program) })
	c.signal(t, program, "STOP")
}

// Resume lets a program that was suspended run again.
func (c Cluster) Resume(t *testing.T, program string) {
	t.Helper()
	c.signal(t, program, "CONT")
}

func (c Cluster) signal(t *testing.T, program, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, program+".pid"))
	if err == nil {
		err = exec.Command("kill", "-"+name, string(text)).Run()
	}
	if err != nil {
		t.Fatalf("%s: SIG%s: %v", program, name, err)
	}
}

// Press restarts the kubelet of a node with a threshold of memory that the node does not meet: it
// evicts its pods, one after the other, until Relieve or the end of the test.
func (c Cluster) Press(t *testing.T, node string) {
	t.Helper()
	t.Cleanup(func() { c.Relieve(t, node) })
	c.restart(t, node, memoryThreshold, crossedThreshold)
}

// Relieve restarts the kubelet of a node with its usual threshold, and waits until pods can run
// on it.
func (c Cluster) Relieve(t *testing.T, node string) {
	t.Helper()
	if !c.restart(t, node, crossedThreshold, memoryThreshold) {
		return // it is relieved
	}
	wait.For(t, node+" has memory", func() (any, bool) {
		out, err := c.TryKubectl("", "get", "node", node, "-o", `jsonpath={.status.conditions[?(@.type=="MemoryPressure")].status} {.status.conditions[?(@.type=="Ready")].status} {.spec.taints}`)
		return []any{out, err}, err == nil && out == "False True "
	})
}

// The thresholds of the kubelets, as their settings have them.
const (
	memoryThreshold  = `"memory.available": "1Mi"`
	crossedThreshold = `"memory.available": "99.9%"`
)

// restart starts the kubelet of a node again with other settings. It reports whether its
// settings had the text that is replaced.
func (c Cluster) restart(t *testing.T, node, from, to string) bool {
	t.Helper()
	path := filepath.Join(c.dir, node, "kubelet.json")
	settings, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(settings), from) {
		return false
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(settings), from, to, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	c.Kill(t, node)
	c.Start(t, node)
	return true
}

// KillContainer ends the first process of a pod's first container with SIGKILL.
func (c Cluster) KillContainer(t *testing.T, namespace, pod string) {
	t.Helper()
	node, id, _ := strings.Cut(c.Kubectl(t, "get", "pod", pod, "-n", namespace, "-o", "jsonpath={.spec.nodeName} {.status.containerStatuses[0].containerID}"), " ")
	kill := exec.Command("ctr", "--address", filepath.Join(c.dir, node, "c.sock"), "-n", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", strings.TrimPrefix(id, "containerd://"))
	if out, err := kill.CombinedOutput(); err != nil {
		t.Fatalf("kill the container of %s: %v: %s", pod, err, out)
	}
}

// Cut cuts a node off the network, until Heal or the end of the test. What runs on it goes on.
func (c Cluster) Cut(t *testing.T, node string) {
	t.Helper()
	c.link(t, node, "down")
	t.Cleanup(func() { c.Heal(t, node) })
}

// Heal connects a node that was cut off, and waits until it is ready.
func (c Cluster) Heal(t *testing.T, node string) {
	t.Helper()
	c.link(t, node, "up")
	wait.For(t, node+" is ready", func() (any, bool) {
		out, err := c.TryKubectl("", "get", "node", node, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		return []any{out, err}, err == nil && out == "True"
	})
}

func (c Cluster) link(t *testing.T, node, state string) {
	t.Helper()
	veth, err := os.ReadFile(filepath.Join(c.dir, node, "veth"))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ip", "link", "set", string(veth), state).CombinedOutput(); err != nil {
		t.Fatalf("ip link set %s %s: %v: %s", veth, state, err, out)
	}
}
