//go:build kubernetes

package kubernetes_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
)

// lacks returns what a cluster lacks for sessions that do not exist yet.
func lacks(r *kubernetes.Runtime, specs ...session.Spec) []kubernetes.Shortage {
	return kubernetes.Shortages(context.Background(), r, specs, func(session.Address) bool { return true })
}

func spec(name string, change func(*session.KubernetesConfig)) session.Spec {
	k := &session.KubernetesConfig{Image: image, Storage: session.PodStorage{Class: "local", Size: 1 << 30}, CPUs: 0.5, Memory: 256 << 20}
	if change != nil {
		change(k)
	}
	return session.Spec{Address: session.Address("session." + name), Runtime: session.RuntimeSpec{Kind: "kubernetes", Kubernetes: k},
		Workspace: session.Workspace{Path: session.VolumeRoot + "/workspaces/" + name + "/clone"}}
}

func TestShortages(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if found := lacks(b.runtime, spec("api", nil), spec("web", nil)); len(found) > 0 {
		t.Errorf("of a cluster that has all: %+v", found)
	}

	elsewhere := kubernetes.New(kubernetes.Config{Kubeconfig: b.cluster.Kubeconfig(), Namespace: "nowhere", DataDir: dataDir, Lineage: lineage})
	defer elsewhere.Close()
	if found := lacks(elsewhere, spec("api", nil)); len(found) != 1 || !found[0].Final || !strings.Contains(found[0].Summary, `namespace "nowhere" does not exist`) {
		t.Errorf("without the namespace: %+v", found)
	}

	found := lacks(b.runtime, spec("api", func(k *session.KubernetesConfig) { k.Storage.Class = "fast" }), spec("web", nil))
	if len(found) != 1 || !found[0].Final || !strings.Contains(found[0].Summary, `"fast"`) || !slices.Equal(found[0].Needed, []session.Address{"session.api"}) {
		t.Errorf("without the storage class: %+v", found)
	}

	b.cluster.Kubectl(t, "create", "quota", "small", "-n", b.namespace, "--hard=pods=1,requests.cpu=2,requests.storage=1Gi,requests.memory=10Gi,limits.memory=300Mi")
	wait.For(t, "the quota is counted", func() (any, bool) {
		out, _ := b.cluster.TryKubectl("", "get", "quota", "small", "-n", b.namespace, "-o", "jsonpath={.status.used.pods}")
		return out, out == "0"
	})
	if found := lacks(b.runtime, spec("api", nil)); len(found) > 0 {
		t.Errorf("of one session that fits: %+v", found)
	}
	found = lacks(b.runtime, spec("api", nil), spec("web", nil))
	if len(found) != 1 || found[0].Final || !strings.Contains(found[0].Summary, `quota "small"`) {
		t.Fatalf("of two sessions: %+v", found)
	}
	for _, line := range []string{"pods: 0 of 1 are used, the plan needs 2 more", "requests.storage: 0 of 1Gi are used, the plan needs 2Gi more", "limits.memory: 0 of 300Mi are used, the plan needs 512Mi more"} {
		if !strings.Contains(found[0].Detail, line) {
			t.Errorf("%q is not in %q", line, found[0].Detail)
		}
	}
	if strings.Contains(found[0].Detail, "cpu") {
		t.Errorf("1 of 2 cpus: %q", found[0].Detail)
	}
	none := kubernetes.Shortages(t.Context(), b.runtime, []session.Spec{spec("api", nil), spec("web", nil)}, func(session.Address) bool { return false })
	if len(none) > 0 {
		t.Errorf("of sessions that exist: %+v", none)
	}
}

func TestMissingRights(t *testing.T) {
	t.Parallel()
	a := newAllowed(t)
	a.without(t, "", "")
	if found := lacks(a.runtime, spec("api", nil)); len(found) > 0 {
		t.Errorf("with the whole Role: %+v", found)
	}
	a.without(t, "pods/exec", "create")
	found := lacks(a.runtime, spec("api", nil))
	if len(found) != 1 || !strings.Contains(found[0].Detail, "create of pods/exec: for agents") || strings.Contains(found[0].Detail, "statefulsets") {
		t.Errorf("without the right to execute commands: %+v", found)
	}
	a.without(t, "networkpolicies", "create")
	if found := lacks(a.runtime, spec("api", nil)); len(found) > 0 {
		t.Errorf("without the right to make policies, which is not needed: %+v", found)
	}
	if found := lacks(a.runtime, spec("api", func(k *session.KubernetesConfig) { k.Network = session.NetworkRestricted })); len(found) != 1 || !strings.Contains(found[0].Detail, "create of networkpolicies") {
		t.Errorf("without the right to make policies: %+v", found)
	}
}
