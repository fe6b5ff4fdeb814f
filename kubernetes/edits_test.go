//go:build kubernetes

package kubernetes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
)

// patch changes the StatefulSet of a place as a user does.
func (b *bed) patch(t *testing.T, p session.Location, kind, change string) {
	t.Helper()
	b.cluster.Kubectl(t, "patch", "statefulset", p.Name, "-n", b.namespace, "--type="+kind, "--patch="+change)
}

// edited returns the names of the edited fields.
func (b *bed) edited(t *testing.T, p session.Location) (fields []string) {
	t.Helper()
	live, _ := b.see(t, p)
	for _, e := range live.Edited {
		field, _ := strings.CutPrefix(e.Field, "statefulset.")
		if strings.HasPrefix(field, "spec.template.") != e.Restarts {
			t.Errorf("%s restarts: %v", e.Field, e.Restarts)
		}
		fields = append(fields, field)
	}
	return fields
}

// full sets every attribute of a pod that a manifest can have.
func full(k *session.KubernetesConfig) {
	k.CPUs, k.Memory = 0.5, 64<<20
	k.Resources.Requests = map[string]string{"cpu": "0.05", "memory": "32768Ki"}
	k.Labels, k.Annotations = map[string]string{"team": "red"}, map[string]string{"example.org/note": "x"}
	k.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
	k.Tolerations = []session.Toleration{{Key: "gpu", Operator: "Exists", Effect: "NoSchedule"}}
	k.Affinity = `{"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}}]}}`
	k.Volumes = []session.PodVolume{{ConfigMap: "kube-root-ca.crt", Target: "/etc/ca"}}
	k.Env = map[string]string{"LEVEL": "debug"}
	k.ImagePullPolicy, k.TmpSize = "IfNotPresent", 64<<20
	k.NetworkAllow, k.Network = []string{"10.1.0.0/16:8443", "namespace/proxies"}, session.NetworkRestricted
	k.Pod = fmt.Sprintf(`{"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["artifacts"]}], "containers": [
		{"name": "session", "env": [{"name": "MORE", "value": "1"}]},
		{"name": "clock", "image": %q, "command": ["sh", "-c", "while :; do sleep 1; done"], "resources": {"limits": {"cpu": "50m"}},
			"securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}}}]}`, k.Image)
}

// declared returns a launch as apply creates it: with a directory for the run, and the whole
// declaration in the spec.
func (b *bed) declared(t *testing.T, name string) session.Launch {
	t.Helper()
	l := b.launch(name)
	l.Spec.Workspace.Path, l.Spec.Stop = l.Dir, l.Stop
	l.RunDir = filepath.Join(dataDir, "runs", l.Mark.Run)
	if err := os.MkdirAll(l.RunDir, 0o700); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestUnknownField refuses a field that the cluster does not know, and leaves nothing.
func TestUnknownField(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(k *session.KubernetesConfig) { k.Pod = `{"hostAliasez": []}` }
	_, err := b.runtime.Create(t.Context(), b.declared(t, "app-web-a1b2c3"))
	if err == nil || !strings.Contains(err.Error(), `unknown field "spec.template.spec.hostAliasez"`) {
		t.Error(err)
	}
	if left := b.cluster.Kubectl(t, "get", "statefulset,pvc", "-n", b.namespace, "-o", "name"); left != "" {
		t.Errorf("left are %s", left)
	}
}

// TestEdits edits the StatefulSet of a session and checks which fields are reported. Some are
// reverted while the agent runs, the rest with the next start.
func TestEdits(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.cluster.Kubectl(t, "create", "priorityclass", b.namespace, "--value=1", "--preemption-policy=Never")
	t.Cleanup(func() { b.cluster.Kubectl(t, "delete", "priorityclass", b.namespace) })
	b.with = func(k *session.KubernetesConfig) { full(k); k.PriorityClass = b.namespace }
	l := b.declared(t, "app-web-a1b2c3")
	p := b.create(t, l)
	b.listening(t, p)
	if fields := b.edited(t, p); fields != nil {
		live, _ := b.see(t, p)
		t.Fatalf("a new session is edited: %v", live.Edited)
	}

	pod := b.cluster.Kubectl(t, "get", "pod", p.Name+"-0", "-n", b.namespace, "-o",
		"jsonpath={.spec.hostAliases[0].hostnames[0]} {.spec.containers[*].name} {.spec.priorityClassName} {.spec.volumes[?(@.name=='tmp')].emptyDir.sizeLimit}")
	if want := "artifacts session clock " + b.namespace + " 67108864"; pod != want {
		t.Errorf("the pod has %q, want %q", pod, want)
	}

	// Outside of the pod's template.
	b.patch(t, p, "merge", `{"metadata": {"labels": {"agentform.id": null, "team": "blue", "more": "x"}, "annotations": {"example.org/note": null}}, "spec": {"replicas": 3, "updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}`)
	want := []string{"metadata.annotations.example.org/note", "metadata.labels.agentform.id", "metadata.labels.team", "spec.replicas", "spec.updateStrategy.type"}
	if fields := b.edited(t, p); !slices.Equal(fields, want) {
		t.Errorf("edited are %v, want %v", fields, want)
	}
	if err := b.runtime.Revert(t.Context(), p, l.Spec); err != nil {
		t.Fatal(err)
	}
	if fields := b.edited(t, p); fields != nil {
		t.Errorf("still edited after a revert: %v", fields)
	}
	if live, _ := b.see(t, p); live.Liveness != session.Alive || live.Mark.Run != l.Mark.Run {
		t.Errorf("after a revert: %s, run %s, want %s", live.Liveness, live.Mark.Run, l.Mark.Run)
	}

	// In the template, while an agent runs: the cluster replaces the pod.
	b.patch(t, p, "strategic", `{"spec": {"template": {"metadata": {"labels": {"team": "blue"}}, "spec": {
		"nodeSelector": {"kubernetes.io/os": "linux"}, "shareProcessNamespace": true, "securityContext": {"supplementalGroups": [4]}, "tolerations": [{"key": "tpu", "operator": "Exists"}], "terminationGracePeriodSeconds": 99,
		"containers": [{"name": "session", "image": "localhost/none:1", "env": [{"name": "HOME", "value": "/tmp"}, {"name": "TOKEN", "value": "hunter2"}],
			"resources": {"limits": {"memory": "65Mi"}}, "readinessProbe": {"periodSeconds": 30}}]}}}}`)
	const container = "spec.template.spec.containers[session]."
	want = []string{
		"spec.template.metadata.labels.team", container + "env[HOME].value", container + "env[TOKEN]", container + "image",
		container + "readinessProbe.periodSeconds", container + "resources.limits.memory",
		"spec.template.spec.securityContext.supplementalGroups", "spec.template.spec.shareProcessNamespace",
		"spec.template.spec.terminationGracePeriodSeconds", "spec.template.spec.tolerations",
	}
	fields := b.edited(t, p)
	slices.Sort(want)
	if slices.Sort(fields); !slices.Equal(fields, want) {
		t.Errorf("edited are %v, want %v", fields, want)
	}
	live, _ := b.see(t, p)
	if text := fmt.Sprint(live.Edited); strings.Contains(text, "hunter2") {
		t.Errorf("a variable's value is shown: %s", text)
	}
	wait.For(t, "the pod is replaced, and its image is missing", func() (any, bool) {
		live, _ = b.see(t, p)
		return live, live.Liveness == session.Dead && !live.PlaceUp
	})
	next := b.declared(t, p.Name)
	began := time.Now()
	if _, err := b.runtime.Restart(t.Context(), p, next); err != nil {
		t.Fatal(err)
	}
	t.Logf("restarted in a new pod after %s", time.Since(began))
	if fields := b.edited(t, p); fields != nil {
		t.Errorf("still edited after a restart: %v", fields)
	}
	if added := b.cluster.Kubectl(t, "get", "pod", p.Name+"-0", "-n", b.namespace, "-o", "jsonpath={.spec.shareProcessNamespace}{.spec.securityContext.supplementalGroups}"); added != "" {
		t.Errorf("the new pod has %s", added)
	}
	b.send(t, p, "say here")

	// Scaled to none.
	b.patch(t, p, "merge", `{"spec": {"replicas": 0}}`)
	wait.For(t, "the pod is gone", func() (any, bool) {
		live, _ = b.see(t, p)
		return live, live.Liveness == session.Dead
	})
	if fields := b.edited(t, p); !slices.Equal(fields, []string{"spec.replicas"}) {
		t.Errorf("edited are %v, want the replicas", fields)
	}
	next = b.declared(t, p.Name)
	next.Spec.Stop.Grace = session.Duration(7 * time.Second)
	if _, err := b.runtime.Restart(t.Context(), p, next); err != nil {
		t.Fatal(err)
	}
	if fields := b.edited(t, p); fields != nil {
		t.Errorf("still edited after it was scaled up: %v", fields)
	}
	if grace := b.cluster.Kubectl(t, "get", "statefulset", p.Name, "-n", b.namespace, "-o", "jsonpath={.spec.template.spec.terminationGracePeriodSeconds}"); grace != "17" {
		t.Errorf("the pod has %s seconds to end, want 17", grace)
	}
	b.send(t, p, "say here")
}

// TestPolicyEdits edits and removes the NetworkPolicy of a session. It is put back while the agent
// runs.
func TestPolicyEdits(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) { c.Network = session.NetworkRestricted }
	l := b.declared(t, "app-web-a1b2c3")
	p := b.create(t, l)
	b.listening(t, p)
	fields := func() (all []string) {
		live, _ := b.see(t, p)
		for _, e := range live.Edited {
			all = append(all, e.Field)
		}
		return all
	}
	if all := fields(); all != nil {
		t.Fatalf("a new session is edited: %v", all)
	}
	name := b.cluster.Kubectl(t, "get", "networkpolicy", "-n", b.namespace, "-o", "jsonpath={.items[*].metadata.name}")
	for _, edit := range []struct{ args, want []string }{
		{[]string{"patch", "networkpolicy", name, "--type=merge", `--patch={"spec": {"ingress": [{}], "policyTypes": ["Ingress"]}}`}, []string{"networkpolicy.spec.policyTypes", "networkpolicy.spec.ingress"}},
		{[]string{"label", "networkpolicy", "--all", "agentform.id-"}, []string{"networkpolicy.metadata.labels.agentform.id"}},
		{[]string{"delete", "networkpolicy", "--all"}, []string{"networkpolicy"}},
	} {
		b.cluster.Kubectl(t, append(edit.args, "-n", b.namespace)...)
		if all := fields(); !slices.Equal(all, edit.want) {
			t.Errorf("%s: %v, want %v", edit.args, all, edit.want)
		}
		if err := b.runtime.Revert(t.Context(), p, l.Spec); err != nil {
			t.Fatal(err)
		}
		if all := fields(); all != nil {
			t.Errorf("%s: still edited after a revert: %v", edit.args, all)
		}
	}
	if live, _ := b.see(t, p); live.Liveness != session.Alive || live.Mark.Run != l.Mark.Run {
		t.Errorf("after the reverts: %s, run %s, want %s", live.Liveness, live.Mark.Run, l.Mark.Run)
	}
	b.send(t, p, "say here")
}

// TestRecordLost removes and corrupts the annotation with a session's record. The session is still
// recognized and works, and its record is restored without a second agent.
func TestRecordLost(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.declared(t, "app-web-a1b2c3")
	p := b.create(t, l)
	b.listening(t, p)
	for _, change := range []string{"agentform.record-", "agentform.record={}", "agentform.record=nonsense"} {
		b.cluster.Kubectl(t, "annotate", "--overwrite", "statefulset", p.Name, "-n", b.namespace, change)
		live, _ := b.see(t, p)
		if live.Liveness != session.Alive || live.Mark != l.Mark || live.Spec != nil || len(live.Edited) != 1 || live.Edited[0].Restarts {
			t.Errorf("%s: %s (%s), %+v, %+v", change, live.Liveness, live.UnknownReason, live.Mark, live.Edited)
		}
		b.send(t, p, "say here")
		if _, err := b.runtime.Restart(t.Context(), p, b.launch(p.Name)); err == nil || !strings.Contains(err.Error(), "is running") {
			t.Errorf("%s: restart beside a live agent: %v", change, err)
		}
		if err := b.runtime.Revert(t.Context(), p, l.Spec); err != nil {
			t.Fatal(err)
		}
		live, _ = b.see(t, p)
		if live.Liveness != session.Alive || live.Mark != l.Mark || live.Spec == nil || len(live.Edited) > 0 {
			t.Errorf("%s, then put back: %s (%s), %+v, %+v", change, live.Liveness, live.UnknownReason, live.Mark, live.Edited)
		}
	}

	// A paused agent stays paused, and one that is dead is dead.
	if err := b.runtime.Pause(t.Context(), p, l.Mark.Run, session.Freeze); err != nil {
		t.Fatal(err)
	}
	b.cluster.Kubectl(t, "annotate", "statefulset", p.Name, "-n", b.namespace, "agentform.record-")
	if live, _ := b.see(t, p); !live.Frozen || !live.InputOff || live.Suspended {
		t.Errorf("paused: %+v", live)
	}
	if err := b.runtime.Resume(t.Context(), p, l.Mark.Run); err != nil {
		t.Fatal(err)
	}
	b.cluster.Kubectl(t, "annotate", "--overwrite", "statefulset", p.Name, "-n", b.namespace, "agentform.record-")
	b.kill(t, p)
	wait.For(t, "it is dead", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, live.Liveness == session.Dead && live.Mark == l.Mark
	})
	next := b.launch(p.Name)
	if _, err := b.runtime.Restart(t.Context(), p, next); err != nil {
		t.Fatal(err)
	}
	if live, _ := b.see(t, p); live.Liveness != session.Alive || live.Mark.Run != next.Mark.Run || len(live.Edited) > 0 {
		t.Errorf("restarted: %s, %+v", live.Liveness, live)
	}

	// Without a pod the run is unknown. The session can still be removed.
	b.cluster.Kubectl(t, "annotate", "statefulset", p.Name, "-n", b.namespace, "agentform.record-")
	b.patch(t, p, "merge", `{"spec": {"replicas": 0}}`)
	wait.For(t, "the pod is gone", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, live.Liveness == session.Dead && live.Mark.ID == l.Mark.ID
	})
	if err := b.runtime.Remove(t.Context(), p); err != nil {
		t.Error(err)
	}
}

// TestFind finds sessions by the names of their StatefulSets and pods.
func TestFind(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch("app-web-a1b2c3")
	p := b.create(t, l)
	other := kubernetes.New(kubernetes.Config{Kubeconfig: b.cluster.Kubeconfig(), Namespace: b.namespace, DataDir: dataDir, Lineage: "other", Shims: shims})
	defer other.Close()
	for id, want := range map[string]string{
		"kubernetes:" + p.Name:                            "",
		"kubernetes:" + p.Name + "-0":                     "",
		"kubernetes:" + b.namespace + "/" + p.Name:        "",
		"kubernetes:" + b.namespace + "/" + p.Name + "-0": "",
		"kubernetes:elsewhere/" + p.Name:                  "it is in namespace elsewhere",
		"kubernetes:missing":                              "has no StatefulSet missing",
		"kubernetes:":                                     "expected kubernetes:",
		"kubernetes:/" + p.Name:                           "expected kubernetes:",
		"tmux:" + p.Name:                                  "expected kubernetes:",
	} {
		found := b.runtime.Find(t.Context(), id)
		switch {
		case want == "" && (found.Err != nil || found.Live == nil || found.Live.Mark != l.Mark):
			t.Errorf("%s: %v, %+v", id, found.Err, found.Live)
		case want != "" && (found.Err == nil || !strings.Contains(found.Err.Error(), want)):
			t.Errorf("%s: %v, want %s", id, found.Err, want)
		}
	}
	if found := other.Find(t.Context(), "kubernetes:"+p.Name); found.Err == nil || !strings.Contains(found.Err.Error(), "of another agentform project") {
		t.Errorf("of another project: %v", found.Err)
	}
}
