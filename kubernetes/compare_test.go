package kubernetes

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// asMade returns a StatefulSet as the cluster stores it after agentform created it.
func asMade(t *testing.T, change func(*record, object)) made {
	t.Helper()
	return asMadeWith(t, func(*session.Spec) {}, change)
}

// asMadeWith is asMade for another spec.
func asMadeWith(t *testing.T, with func(*session.Spec), change func(*record, object)) made {
	t.Helper()
	c := Config{DataDir: "/data", Lineage: "lineage"}
	spec := session.Spec{
		Runtime:   session.RuntimeSpec{Kind: "kubernetes", Kubernetes: &session.KubernetesConfig{Image: "a:1", Memory: 4 << 30, Labels: map[string]string{"team": "red"}}},
		Workspace: session.Workspace{Mode: session.Plain, Path: "/data/workspaces/a/b"}, Stop: session.Stop{Grace: session.Duration(5 * time.Second)},
	}
	with(&spec)
	l := session.Launch{Mark: session.Mark{Project: "lineage", Address: "session.a", ID: "a-1", Run: "0123456789abcdef", Hash: "1:x"}, Name: "shop-a", Spec: spec, Stop: spec.Stop}
	k := record{Mark: l.Mark, Spec: &spec, Root: "/data", Program: "/data/bin/shim", Generation: 1}
	set, err := setOf(l, k, c.claimOf(spec.Workspace.Path))
	if err != nil {
		t.Fatal(err)
	}
	var all object
	if err := decode(set.Object, &all); err != nil {
		t.Fatal(err)
	}
	all["metadata"].(object)["generation"] = 1
	fillIn(all["spec"].(object))
	change(&k, all)
	x := made{config: c, record: k}
	if err := decode(all, &x.set); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestEditsFound checks which changes count as edits.
func TestEditsFound(t *testing.T) {
	metadata := func(o object) object { return o["metadata"].(object) }
	labels := func(o object) object { return metadata(o)["labels"].(object) }
	spec := func(o object) object { metadata(o)["generation"] = 2; return o["spec"].(object) }
	pod := func(o object) object { return spec(o)["template"].(object)["spec"].(object) }
	main := func(o object) object { return pod(o)["containers"].([]any)[0].(object) }
	const secret = "hunter2" // no value of a variable is shown
	const inPod = "statefulset.spec.template.spec."
	for name, test := range map[string]struct {
		change func(*record, object)
		want   []string
	}{
		"nothing":                      {func(*record, object) {}, nil},
		"what the API server fills in": {func(_ *record, o object) { spec(o) }, nil},
		"an empty object":              {func(_ *record, o object) { pod(o)["dnsConfig"] = object{} }, nil},
		"another default":              {func(_ *record, o object) { pod(o)["dnsPolicy"] = "Default" }, []string{inPod + "dnsPolicy"}},
		"privileges":                   {func(_ *record, o object) { main(o)["securityContext"].(object)["privileged"] = true }, []string{inPod + "containers[session].securityContext.privileged"}},
		"escalation, by default":       {func(_ *record, o object) { delete(main(o)["securityContext"].(object), "allowPrivilegeEscalation") }, []string{inPod + "containers[session].securityContext.allowPrivilegeEscalation"}},
		"a token, by default":          {func(_ *record, o object) { delete(pod(o), "automountServiceAccountToken") }, []string{inPod + "automountServiceAccountToken"}},
		"the node's network":           {func(_ *record, o object) { pod(o)["hostNetwork"] = true }, []string{inPod + "hostNetwork"}},
		"the node's files": {func(_ *record, o object) {
			tmp := pod(o)["volumes"].([]any)[2].(object)
			delete(tmp, "emptyDir")
			tmp["hostPath"] = object{"path": "/", "type": ""}
		}, []string{inPod + "volumes[tmp].emptyDir", inPod + "volumes[tmp].hostPath.path", inPod + "volumes[tmp].hostPath.type"}},
		"another name of the pod": {func(_ *record, o object) { spec(o)["ordinals"] = object{"start": 1} }, []string{"statefulset.spec.ordinals.start"}},
		"a value of a variable by reference": {func(_ *record, o object) {
			main(o)["env"].([]any)[0].(object)["valueFrom"] = object{"fieldRef": object{"fieldPath": secret}}
		}, []string{inPod + "containers[session].env[HOME].valueFrom.fieldRef.fieldPath"}},
		"a command after the start": {func(_ *record, o object) {
			main(o)["lifecycle"] = object{"postStart": object{"exec": object{"command": []any{secret}}}}
		}, []string{inPod + "containers[session].lifecycle.postStart.exec.command"}},
		"a quantity":               {func(_ *record, o object) { main(o)["resources"].(object)["limits"].(object)["memory"] = "4Gi" }, nil},
		"another quantity":         {func(_ *record, o object) { main(o)["resources"].(object)["limits"].(object)["memory"] = "5Gi" }, []string{inPod + "containers[session].resources.limits.memory"}},
		"another label":            {func(_ *record, o object) { labels(o)["more"] = "x" }, nil},
		"a label":                  {func(_ *record, o object) { delete(labels(o), "team") }, []string{"statefulset.metadata.labels.team"}},
		"a label of agentform":     {func(_ *record, o object) { labels(o)[labelProject] = "x" }, []string{"statefulset.metadata.labels.agentform.project"}},
		"the address and the hash": {func(_ *record, o object) { delete(metadata(o), "annotations") }, nil},
		"the image":                {func(_ *record, o object) { main(o)["image"] = "b:1" }, []string{inPod + "containers[session].image"}},
		"another container": {func(_ *record, o object) {
			pod(o)["containers"] = append(pod(o)["containers"].([]any), object{"name": "x"})
		}, []string{inPod + "containers[x]"}},
		"a variable": {func(_ *record, o object) { main(o)["env"].([]any)[0].(object)["value"] = secret }, []string{inPod + "containers[session].env[HOME].value"}},
		"another variable": {func(_ *record, o object) {
			main(o)["env"] = append(main(o)["env"].([]any), object{"name": "KEY", "value": secret})
		}, []string{inPod + "containers[session].env[KEY]"}},
		"tolerations":                   {func(_ *record, o object) { pod(o)["tolerations"] = []any{object{"key": "x"}} }, []string{inPod + "tolerations"}},
		"the volume":                    {func(_ *record, o object) { pod(o)["volumes"] = slices.Delete(pod(o)["volumes"].([]any), 0, 1) }, []string{inPod + "volumes[session]"}},
		"the command":                   {func(_ *record, o object) { main(o)["command"] = []any{"sleep"} }, []string{inPod + "containers[session].command"}},
		"by a version, and not edited":  {func(k *record, o object) { main(o)["image"] = "b:1"; k.Generation = 2 }, nil},
		"from another path of the data": {func(k *record, _ object) { k.Root = "/elsewhere" }, nil},
		"without a spec":                {func(k *record, o object) { main(o)["image"] = "b:1"; k.Spec = nil }, nil},
	} {
		edited, err := asMade(t, test.change).edits(session.Lifecycle{})
		if text, _ := json.Marshal(edited); strings.Contains(string(text), secret) {
			t.Errorf("%s: the value is shown: %s", name, text)
		}
		var fields []string
		for _, e := range edited {
			if strings.HasSuffix(e.Field, "env[KEY]") && e.Actual != "(added)" {
				t.Errorf("%s is %v, want that it was added", e.Field, e.Actual)
			}
			fields = append(fields, e.Field)
		}
		if err != nil || !slices.Equal(fields, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, fields, err, test.want)
		}
	}
}

// fillIn adds what the API server of Kubernetes 1.35 adds to the spec of a StatefulSet.
func fillIn(spec object) {
	spec["updateStrategy"] = object{"type": "RollingUpdate", "rollingUpdate": object{"partition": 0, "maxUnavailable": 1}}
	spec["persistentVolumeClaimRetentionPolicy"] = object{"whenDeleted": "Retain", "whenScaled": "Retain"}
	template := spec["template"].(object)
	template["metadata"].(object)["creationTimestamp"] = nil
	pod := template["spec"].(object)
	pod["dnsPolicy"], pod["restartPolicy"], pod["schedulerName"] = "ClusterFirst", "Always", "default-scheduler"
	if account, is := pod["serviceAccountName"]; is {
		pod["serviceAccount"] = account
	}
	for _, v := range pod["volumes"].([]any) {
		for _, source := range []string{"secret", "configMap"} {
			if of, is := v.(object)[source].(object); is && of["defaultMode"] == nil {
				of["defaultMode"] = 420
			}
		}
	}
	main := pod["containers"].([]any)[0].(object)
	main["imagePullPolicy"], main["terminationMessagePath"] = "IfNotPresent", "/dev/termination-log"
	if main["resources"] == nil {
		main["resources"] = object{}
	}
	main["ports"].([]any)[0].(object)["protocol"] = "TCP"
	for _, name := range []string{"startupProbe", "readinessProbe"} {
		probe := main[name].(object)
		probe["successThreshold"] = 1
		probe["httpGet"].(object)["scheme"] = "HTTP"
	}
}

// TestPullPolicy checks the API server's policy for images.
func TestPullPolicy(t *testing.T) {
	for image, want := range map[string]string{
		"a": "Always", "a:latest": "Always", "r.example:5000/a": "Always", "r.example:5000/a:latest": "Always", "a:latest@sha256:0": "Always",
		"a:1": "IfNotPresent", "r.example/a:1": "IfNotPresent", "a@sha256:0": "IfNotPresent", "r.example:5000/a@sha256:0": "IfNotPresent",
	} {
		if is := pullPolicy(image); is != want {
			t.Errorf("%s: %s, want %s", image, is, want)
		}
	}
}

// TestNoEviction lets no autoscaler evict a pod, unless the manifest says otherwise.
func TestNoEviction(t *testing.T) {
	const safe, karpenter = "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"
	m := asMadeWith(t, func(s *session.Spec) { s.Runtime.Kubernetes.Annotations = map[string]string{safe: "true"} }, func(*record, object) {})
	declared, err := m.declared(m.record.Mark, *m.record.Spec, session.Lifecycle{})
	if err != nil {
		t.Fatal(err)
	}
	pod := declared["spec"].(object)["template"].(object)["metadata"].(object)["annotations"].(object)
	if pod[safe] != "true" || pod[karpenter] != "true" {
		t.Errorf("the pod has %v", pod)
	}
	if set := declared["metadata"].(object)["annotations"].(object); set[karpenter] != nil {
		t.Errorf("the StatefulSet has %v", set)
	}
}

// TestOverlay merges what a manifest adds to a pod.
func TestOverlay(t *testing.T) {
	for name, c := range map[string]struct{ under, over, want string }{
		"objects":        {`{"a": {"b": 1, "c": 2}}`, `{"a": {"c": 3}, "d": 4}`, `{"a": {"b": 1, "c": 3}, "d": 4}`},
		"null":           {`{"a": {"b": 1, "c": 2}}`, `{"a": {"b": null}, "d": {"e": null}}`, `{"a": {"c": 2}, "d": {}}`},
		"by name":        {`{"l": [{"name": "a", "x": 1}, {"name": "b"}]}`, `{"l": [{"name": "c"}, {"name": "a", "y": 2}]}`, `{"l": [{"name": "a", "x": 1, "y": 2}, {"name": "b"}, {"name": "c"}]}`},
		"by target":      {`{"l": [{"name": "v", "mountPath": "/a"}]}`, `{"l": [{"name": "v", "mountPath": "/b"}]}`, `{"l": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/b"}]}`},
		"whole":          {`{"l": [1, 2]}`, `{"l": [3]}`, `{"l": [3]}`},
		"not all named":  {`{"l": [{"name": "a"}]}`, `{"l": [{"key": "b"}]}`, `{"l": [{"key": "b"}]}`},
		"a list at last": {`{}`, `{"l": [{"name": "a", "x": null}]}`, `{"l": [{"name": "a"}]}`},
	} {
		var under, over, want object
		for into, text := range map[*object]string{&under: c.under, &over: c.over, &want: c.want} {
			if err := json.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		before, _ := json.Marshal(under)
		if got := overlay(under, over); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if after, _ := json.Marshal(under); string(after) != string(before) {
			t.Errorf("%s: it changed %s to %s", name, before, after)
		}
	}
}

// everything sets every attribute that the manifest can have of a pod.
func everything(s *session.Spec) {
	k := s.Runtime.Kubernetes
	k.CPUs, k.ReadOnly, k.User = 0.5, true, "1000:2000"
	k.Resources.Requests = map[string]string{"cpu": "50m"}
	k.Annotations = map[string]string{"example.org/note": "x"}
	k.NodeSelector = map[string]string{"pool": "agents"}
	k.Tolerations = []session.Toleration{{Key: "gpu", Operator: "Exists", Effect: "NoSchedule"}}
	k.Affinity = `{"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "x"}}}]}}`
	k.ImagePullPolicy, k.PriorityClass, k.TmpSize = "IfNotPresent", "agents", 2<<30
	k.Pod = `{"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["db"]}], "securityContext": {"supplementalGroups": [5]},
		"containers": [{"name": "session", "env": [{"name": "MORE", "value": "1"}]}, {"name": "proxy", "image": "proxy:1", "resources": {"limits": {"cpu": "100m"}}}]}`
	k.RuntimeClass, k.ServiceAccount, k.ImagePullSecrets = "gvisor", "agents", []string{"pull"}
	k.Volumes = []session.PodVolume{{ConfigMap: "ca", Target: "/etc/ca"}, {Secret: "key", Target: "/etc/key"}, {Claim: "cache", Target: "/cache"}, {Claim: "docs", Target: "/docs", ReadOnly: true}}
	s.SecretRefs = map[string]session.SecretRef{"TOKEN": {Name: "tokens", Key: "token"}, "GIT": {Name: "tokens", Key: "git"}}
	s.Workspace.RepoSecret = "GIT"
}

// TestPutBack checks that what somebody added to a StatefulSet is removed: outside of the pod's
// template at once, the rest with the next start.
func TestPutBack(t *testing.T) {
	const path = "statefulsets/shop-a"
	for name, test := range map[string]struct {
		change object
		starts bool // only a start puts it back
	}{
		"outside of the template": {object{"metadata": object{"labels": object{"team": "blue"}}, "spec": object{
			"replicas": 3, "ordinals": object{"start": 1}, "minReadySeconds": 5, "updateStrategy": object{"type": "OnDelete", "rollingUpdate": nil}}}, false},
		"the pod": {object{"spec": object{"template": object{"spec": object{
			"hostNetwork": true, "nodeSelector": object{"pool": "x"}, "securityContext": object{"runAsUser": 0, "sysctls": []any{object{"name": "a", "value": "b"}}}, "automountServiceAccountToken": nil}}}}, true},
		"its container": {object{"spec": object{"template": object{"spec": object{
			"containers": []any{object{"name": "session", "image": "b:1", "securityContext": object{"privileged": true}}}}}}}, true},
		"both": {object{"spec": object{"ordinals": object{"start": 1}, "template": object{"spec": object{"hostPID": true}}}}, true},
	} {
		a, c := newAPI(t)
		m := asMade(t, func(_ *record, o object) { a.put(path, o) })
		a.change(path, merged(test.change, object{"metadata": object{"annotations": object{"more": "x"}}}).(object))
		a.change(path, object{"spec": object{"template": object{"metadata": object{"annotations": object{"more": "x"}}}}})
		r := c.runtime(m.config)
		at := session.Location{Name: "shop-a"}
		edits := func() []session.Edit {
			t.Helper()
			now, err := r.target(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			edited, err := madeOf(now).edits(session.Lifecycle{})
			if err != nil {
				t.Fatal(err)
			}
			return edited
		}
		if len(edits()) == 0 {
			t.Fatalf("%s: nothing is edited", name)
		}
		if err := r.Revert(t.Context(), at, *m.record.Spec); err != nil {
			t.Fatal(err)
		}
		left := edits()
		if slices.ContainsFunc(left, func(e session.Edit) bool { return !e.Restarts }) || len(left) > 0 != test.starts {
			t.Errorf("%s: after a revert: %+v", name, left)
		}
		if test.starts {
			now, err := r.target(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			if err := now.renew(t.Context(), session.Launch{Mark: m.record.Mark, Name: "shop-a", Spec: *m.record.Spec}); err != nil {
				t.Fatal(err)
			}
			if left := edits(); len(left) > 0 {
				t.Errorf("%s: after a start: %+v", name, left)
			}
		}
		var set statefulSet
		if err := decode(a.objects[path], &set); err != nil {
			t.Fatal(err)
		}
		var template struct{ Metadata metadata }
		if err := json.Unmarshal(set.Spec.Template, &template); err != nil {
			t.Fatal(err)
		}
		kept := template.Metadata.Annotations
		if *set.Spec.Replicas != 1 || set.Metadata.Annotations["more"] != "x" || kept["more"] != "x" || kept[annotationHash] == "" {
			t.Errorf("%s: %d replicas, %v, in the template %v", name, *set.Spec.Replicas, set.Metadata.Annotations, kept)
		}
	}
}
