//go:build kubernetes

package kubernetes_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
)

// refused creates a session that the cluster refuses, checks the error and that nothing is left,
// and logs the time.
func refused(t *testing.T, b *bed, says ...string) {
	t.Helper()
	began := time.Now()
	_, err := b.runtime.Create(t.Context(), b.launch("app-web-a1b2c3"))
	if err == nil {
		t.Fatal("it was created")
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not say %q: %v", text, err)
		}
	}
	t.Logf("refused after %s", time.Since(began))
	if left := b.cluster.Kubectl(t, "get", "statefulset,pod,pvc,networkpolicy", "-n", b.namespace, "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}

func TestImageMissing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) { c.Image = "localhost/no-such-image:1" }
	refused(t, b, "app-web-a1b2c3-0", "no-such-image")
}

func TestVolumeNotBindable(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) { c.Storage.Class, c.ScheduleTimeout = "never", 0 }
	refused(t, b, "no place", `(class "never") is not bound`, "volumes", "schedule_timeout") // 10 seconds on an idle machine
}

func TestNoNode(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) {
		c.NodeSelector, c.ScheduleTimeout = map[string]string{"pool": "none"}, 0
	}
	refused(t, b, "no place", "node")
}

func TestQuotaExceeded(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.cluster.Apply(t, fmt.Sprintf(`{"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": %q}, "spec": {"hard": {"pods": "0"}}}`, b.namespace))
	wait.For(t, "the quota counts", func() (any, bool) {
		pods := b.cluster.Kubectl(t, "get", "quota", "q", "-n", b.namespace, "-o", "jsonpath={.status.hard.pods}")
		return pods, pods == "0"
	})
	refused(t, b, "exceeded quota")
}

func TestNamespaceMissing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r := kubernetes.New(kubernetes.Config{Kubeconfig: b.cluster.Kubeconfig(), Namespace: "no-such-namespace", DataDir: dataDir, Lineage: lineage, Shims: shims})
	defer r.Close()
	if _, err := r.Create(t.Context(), b.launch("app-web-a1b2c3")); err == nil || !strings.Contains(err.Error(), "no-such-namespace") {
		t.Errorf("create: %v, want an error that names the namespace", err)
	}
}

// A deleted pod is recreated, without its agent, and with the same volume.
func TestPodDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch("app-web-a1b2c3")
	p := b.create(t, l)
	if out, err := b.exec(p, "sh", "-c", `echo kept >"$1/file"`, "sh", l.Dir); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.cluster.Kubectl(t, "delete", "pod", p.Name+"-0", "-n", b.namespace, "--grace-period=1")
	wait.For(t, "the agent is dead in a new pod", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, live.PlaceUp && live.Liveness == session.Dead
	})
	next := b.launch(l.Name)
	if again, err := b.runtime.Restart(t.Context(), p, next); err != nil || again != p {
		t.Fatalf("restart: %+v, %v", again, err)
	}
	if live, _ := b.see(t, p); live.Liveness != session.Alive || live.Mark != next.Mark {
		t.Errorf("%s, mark %+v; want alive, %+v", live.Liveness, live.Mark, next.Mark)
	}
	if text, err := b.exec(p, "cat", l.Dir+"/file"); err != nil || text != "kept\n" {
		t.Errorf("the volume has %q, %v", text, err)
	}
}

// The exit of a run is known even if its pod, and with it the log, was recreated.
func TestFinishedBeforePodDeleted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch("app-web-a1b2c3")
	l.Argv = []string{"sh", "-c", "sleep 1; exit 3"}
	p := b.create(t, l)
	ended := func() (any, bool) {
		live, _ := b.see(t, p)
		return live, live.PlaceUp && live.Liveness == session.Dead && live.Exit != nil && live.Exit.Code == 3
	}
	wait.For(t, "it has ended", ended)
	before := b.uid(p)
	b.cluster.Kubectl(t, "delete", "pod", p.Name+"-0", "-n", b.namespace, "--grace-period=1")
	b.runtime = b.open() // has not observed it
	wait.For(t, "a new pod runs", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, b.uid(p) != before && live.PlaceUp
	})
	wait.For(t, "it still has ended", ended)
}

// uid returns the identity of a pod, or "" without one.
func (b *bed) uid(p session.Location) string {
	out, _ := b.cluster.TryKubectl("", "get", "pod", p.Name+"-0", "-n", b.namespace, "-o", "jsonpath={.metadata.uid}") // fails if there is none
	return out
}

// An evicted pod is recreated, and keeps its volume but not its agent.
func TestPodEvicted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch("app-web-a1b2c3")
	p := b.create(t, l)
	before := b.uid(p)
	eviction := fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "%s-0", "namespace": %q}}`, p.Name, b.namespace)
	if out, err := b.cluster.TryKubectl(eviction, "create", "--raw", "/api/v1/namespaces/"+b.namespace+"/pods/"+p.Name+"-0/eviction", "-f", "-"); err != nil {
		t.Fatal(err, out)
	}
	wait.For(t, "the agent is dead in a new pod", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, b.uid(p) != before && live.PlaceUp && live.Liveness == session.Dead
	})
	b.revive(t, p)
}

// An agent that exceeds its pod's memory is killed, and the session reports that.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) { c.Memory = 64 << 20 }
	l := b.launch("app-web-a1b2c3")
	l.Argv = []string{"tail", "/dev/zero"} // keeps a line of any length
	p := b.create(t, l)
	wait.For(t, "it is dead for want of memory", func() (any, bool) {
		live, _ := b.see(t, p)
		said := live.UnknownReason
		if live.Exit != nil {
			said += string(live.Exit.Cause) + " " + live.Exit.Detail
		}
		return live, live.PlaceUp && live.Liveness == session.Dead && strings.Contains(said, "memory")
	})
	b.revive(t, p)
}

// revive restarts the agent of a session, and checks that it is the only one.
func (b *bed) revive(t *testing.T, p session.Location) {
	t.Helper()
	next := b.launch(p.Name)
	if again, err := b.runtime.Restart(t.Context(), p, next); err != nil || again != p {
		t.Fatalf("restart: %+v, %v", again, err)
	}
	if live, _ := b.see(t, p); live.Liveness != session.Alive || live.Mark != next.Mark {
		t.Errorf("%s, mark %+v; want alive, %+v", live.Liveness, live.Mark, next.Mark)
	}
	b.listening(t, p)
}

// A set that was scaled to zero manually is dead, and a restart scales it up.
func TestScaledByHand(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch("app-web-a1b2c3"))
	b.cluster.Kubectl(t, "scale", "statefulset", p.Name, "-n", b.namespace, "--replicas=0")
	wait.For(t, "it is dead, and says why", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, !live.PlaceUp && live.Liveness == session.Dead && strings.Contains(live.UnknownReason, "0 replicas")
	})
	if _, err := b.runtime.Restart(t.Context(), p, b.launch(p.Name)); err != nil {
		t.Fatal(err)
	}
	if live, _ := b.see(t, p); live.Liveness != session.Alive {
		t.Errorf("%s", live.Liveness)
	}
}

// The agent on a disconnected node is unknown and not dead. No second one is started, and the agent
// is there when the node is back.
func TestNodeCutOff(t *testing.T) {
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) {
		// otherwise the cluster marks the pod for removal, which is another test
		c.Tolerations = []session.Toleration{{Key: "node.kubernetes.io/unreachable", Operator: "Exists"}, {Key: "node.kubernetes.io/not-ready", Operator: "Exists"}}
	}
	l := b.launch("app-web-a1b2c3")
	p := b.create(t, l)
	node := b.cluster.Kubectl(t, "get", "pod", p.Name+"-0", "-n", b.namespace, "-o", "jsonpath={.spec.nodeName}")
	b.cluster.Cut(t, node)
	wait.For(t, "it is unknown", func() (any, bool) {
		live, _ := b.see(t, p)
		if live.Liveness == session.Dead {
			t.Fatalf("it is dead: %s", live.UnknownReason)
		}
		return live, live.Liveness == session.Unknown && strings.Contains(live.UnknownReason, node)
	})
	if _, err := b.runtime.Restart(t.Context(), p, b.launch(l.Name)); err == nil || !strings.Contains(err.Error(), node) {
		t.Errorf("restart: %v, want an error that names the node", err)
	}
	if err := b.runtime.Stop(t.Context(), p, l.Mark.Run, l.Stop); err == nil {
		t.Error("an agent out of reach was stopped")
	}
	b.cluster.Heal(t, node)
	wait.For(t, "it is alive again", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, live.Liveness == session.Alive && live.Mark == l.Mark
	})
}

// An unresponsive cluster is an error, within 10 seconds on an idle machine, and a session survives
// it.
func TestServerKilled(t *testing.T) {
	b := newBed(t)
	l := b.launch("app-web-a1b2c3")
	p := b.create(t, l)
	b.cluster.Kill(t, "apiserver")
	began := time.Now()
	_, err := b.runtime.Observe(t.Context(), false)
	var unreachable *kubernetes.UnreachableError
	if !errors.As(err, &unreachable) || !errors.Is(err, session.ErrUnreachable) {
		t.Errorf("%v, want that it is unreachable", err)
	}
	t.Logf("told after %s", time.Since(began))
	b.cluster.Start(t, "apiserver")
	wait.For(t, "it is alive", func() (any, bool) {
		lives, err := b.runtime.Observe(t.Context(), false)
		return []any{lives, err}, err == nil && len(lives) == 1 && lives[0].Liveness == session.Alive && lives[0].Mark == l.Mark
	})
	b.send(t, p, "say here")
}

// The cluster stores no secret of a session.
func TestSecretsAreNotStored(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	value := "hunter2-" + newRun()
	l := b.launch("app-web-a1b2c3")
	l.Secrets = map[string]string{"TOKEN": value}
	p := b.create(t, l)
	b.listening(t, p)
	if !strings.Contains(b.state(t, p, "environ"), "TOKEN="+value) {
		t.Fatal("the agent does not have the secret")
	}
	if strings.Contains(b.visible(t, p), value) {
		t.Error("the secret can be seen from outside")
	}
	err := filepath.WalkDir(b.cluster.Etcd(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), value) {
			t.Errorf("etcd stores the secret: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A secret of the cluster reaches the agent only by reference. If it is missing, the error is the
// cluster's.
func TestSecretOfTheCluster(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	value := "hunter3-" + newRun()
	launch := func() session.Launch {
		l := b.launch("app-web-a1b2c3")
		l.Spec.SecretRefs = map[string]session.SecretRef{"TOKEN": {Name: "tokens", Key: "github"}}
		return l
	}
	if _, err := b.runtime.Create(t.Context(), launch()); err == nil || !strings.Contains(err.Error(), `secret "tokens" not found`) {
		t.Errorf("without the Secret: %v", err)
	}
	b.cluster.Kubectl(t, "create", "secret", "generic", "tokens", "-n", b.namespace, "--from-literal=github="+value)
	p := b.create(t, launch())
	b.listening(t, p)
	if !strings.Contains(b.state(t, p, "environ"), "TOKEN="+value) {
		t.Error("the agent does not have the secret")
	}
	if set := b.cluster.Kubectl(t, "get", "statefulset,pod", "-n", b.namespace, "-o", "yaml"); strings.Contains(set, value) || !strings.Contains(set, "secretKeyRef") {
		t.Errorf("the secret is not a reference:\n%s", set)
	}
}

// A recreated session enlarges its volume to the declared size if the class allows that.
func TestVolumeGrows(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	size := func() string {
		return b.cluster.Kubectl(t, "get", "pvc", "-n", b.namespace, "-o", "jsonpath={.items[*].spec.resources.requests.storage}")
	}
	for _, want := range []struct {
		size int64
		is   string
	}{{1 << 20, "1Mi"}, {3 << 20, "3Mi"}, {2 << 20, "3Mi"}} {
		b.with = func(c *session.KubernetesConfig) { c.Storage.Size = want.size }
		p := b.create(t, b.launch("app-web-a1b2c3"))
		q, err := resource.ParseQuantity(size())
		if err != nil || q.Cmp(resource.MustParse(want.is)) != 0 {
			t.Errorf("with %d bytes declared, the claim has %s, %v", want.size, q.String(), err)
		}
		if err := b.runtime.Remove(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// repository creates a repository with one commit.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, argv := range [][]string{{"init", "-q", "-b", "main", "."}, {"-c", "user.email=a@example.com", "-c", "user.name=a", "commit", "-q", "--allow-empty", "-m", "first"}} {
		if out, err := git.Here(dir)(t.Context(), argv...); err != nil {
			t.Fatalf("git %s: %v: %s", argv, err, out)
		}
	}
	return dir
}

// A workspace is cloned to the volume before the session has a pod, and is reported, fetched and
// removed with and without one.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	repo := repository(t)
	l := b.launch("app-web-a1b2c3")
	l.Spec.Branch, l.Spec.Workspace = "agents/web", session.Workspace{Mode: session.Clone, Repo: repo, Path: l.Dir}
	rec := session.Record{ID: l.Mark.ID, Address: l.Mark.Address, Spec: l.Spec,
		Tree: session.WorkspaceState{Path: l.Dir, Mode: session.Clone, Repo: repo, Branch: "agents/web"}}
	v := git.VolumeOf(b.runtime, rec)
	if _, err := v.AddClone(t.Context(), repo, "agents/web", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := v.AddClone(t.Context(), repo, "agents/web", ""); err == nil {
		t.Error("cloned over a clone")
	}
	known, err := b.runtime.Workspaces(t.Context())
	if err != nil || len(known) != 1 || known[0].Path != l.Dir || known[0].Branch != "agents/web" {
		t.Errorf("workspaces: %+v, %v", known, err)
	}
	p := b.create(t, l)
	rec.Location = p
	if co := v.Look(t.Context()); co.Branch != "agents/web" || co.Err != nil {
		t.Errorf("%+v", co)
	}
	if out, err := b.exec(p, "git", "-C", l.Dir, "-c", "user.email=a@example.com", "-c", "user.name=a", "commit", "-q", "--allow-empty", "-m", "work"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := b.exec(p, "git", "-C", l.Dir, "checkout", "-q", "-b", "other"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wait.For(t, "the log tells the branch", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, live.Checkout != nil && live.Checkout.Branch == "other"
	})
	if err := b.runtime.Remove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	v = git.VolumeOf(b.runtime, rec)
	if risk, err := v.Risk(t.Context(), repo); err != nil || !risk.Any() {
		t.Errorf("risk %+v, %v; want the commit", risk, err)
	}
	if f, err := v.Fetch(t.Context(), repo, "agents/web", "refs/agentform/web"); err != nil || f.Ahead != 1 {
		t.Errorf("fetched %+v, %v", f, err)
	}
	if risk, err := v.Risk(t.Context(), repo); err != nil || risk.Any() {
		t.Errorf("risk %+v, %v; want none", risk, err)
	}
	if err := b.runtime.RemoveWorkspace(t.Context(), l.Dir); err != nil {
		t.Fatal(err)
	}
	if left := b.cluster.Kubectl(t, "get", "statefulset,pod,pvc", "-n", b.namespace, "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}
