package kubernetes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// asMade returns a StatefulSet as the cluster stores it after agentform created it.
func asMade(t *testing.T, change func(*record, object)) made {
	t.Helper()
	c := Config{DataDir: "/data", Lineage: "lineage"}
	spec := session.Spec{
		Runtime:   session.RuntimeSpec{Kind: "kubernetes", Kubernetes: &session.KubernetesConfig{Image: "a:1", Memory: 4 << 30, Labels: map[string]string{"team": "red"}}},
		Workspace: session.Workspace{Mode: session.Plain, Path: "/data/workspaces/a/b"}, Stop: session.Stop{Grace: session.Duration(5 * time.Second)},
	}
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
		"nothing": {func(*record, object) {}, nil},
		"what the API server fills in": {func(_ *record, o object) {
			spec(o)["updateStrategy"] = object{"type": "RollingUpdate"}
			pod(o)["dnsPolicy"] = "ClusterFirst"
		}, nil},
		"what it drops":            {func(_ *record, o object) { delete(main(o)["securityContext"].(object), "readOnlyRootFilesystem") }, nil},
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
		"edited, and put back":          {func(_ *record, o object) { spec(o) }, nil},
		"from another path of the data": {func(k *record, _ object) { k.Root = "/elsewhere" }, nil},
		"without a spec":                {func(k *record, o object) { main(o)["image"] = "b:1"; k.Spec = nil }, nil},
	} {
		edited, err := asMade(t, test.change).edits()
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
