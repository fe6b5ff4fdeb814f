package kubernetes

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// limited returns a session in a cluster whose network is restricted, and its claim.
func limited(t *testing.T) (*api, target, session.Launch) {
	t.Helper()
	a, c := newAPI(t)
	m := asMade(t, func(k *record, _ object) { k.Spec.Runtime.Kubernetes.Network = session.NetworkRestricted })
	l := session.Launch{Mark: m.record.Mark, Name: m.set.Metadata.Name, Dir: m.record.Spec.Workspace.Path, Spec: *m.record.Spec}
	claim := m.config.claim(l.Mark, l.Spec, l.Dir, "")
	a.put("persistentvolumeclaims/"+claim.GetName(), claim.Object)
	return a, target{runtime: c.runtime(m.config), cluster: c, set: m.set, record: m.record}, l
}

// TestPolicyOfReplaced checks that a replaced session gets a network policy of its own. The garbage
// collector removes that of the earlier StatefulSet of this name later.
func TestPolicyOfReplaced(t *testing.T) {
	a, target, l := limited(t)
	for _, uid := range []string{"first", "second", "second"} {
		target.set.Metadata.UID = uid
		if err := limitNetwork(t.Context(), target, l); err != nil {
			t.Fatal(err)
		}
	}
	if names := a.names("networkpolicies"); !slices.Equal(names, []string{"shop-a-first", "shop-a-second"}) {
		t.Errorf("the policies are %v", names)
	}
}

// TestPolicyThere checks what becomes of a policy that exists already when an agent starts.
func TestPolicyThere(t *testing.T) {
	const path = "networkpolicies/shop-a-u"
	for name, test := range map[string]struct {
		change  object
		patches int
		err     string
	}{
		"the same":             {object{}, 0, ""},
		"another label":        {object{"metadata": object{"labels": object{"more": "x"}}}, 0, ""},
		"a label":              {object{"metadata": object{"labels": object{labelProject: nil}}}, 1, ""},
		"other pods":           {object{"spec": object{"podSelector": object{"matchLabels": object{"app": "x"}}}}, 1, ""},
		"from anywhere":        {object{"spec": object{"ingress": []any{object{}}}}, 1, ""},
		"to anywhere":          {object{"spec": object{"egress": []any{object{}}}}, 1, ""},
		"one that is removed":  {object{"metadata": object{"deletionTimestamp": "2026-11-29T01:00:00Z"}}, 0, "is being removed"},
		"no direction is left": {object{"spec": object{"policyTypes": []any{"Ingress"}}}, 1, ""},
	} {
		a, target, l := limited(t)
		target.set.Metadata.UID = "u"
		if err := limitNetwork(t.Context(), target, l); err != nil {
			t.Fatal(err)
		}
		want := a.objects[path]["spec"]
		a.change(path, test.change)
		err := limitNetwork(t.Context(), target, l)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want %s", name, err, test.err)
			}
			continue
		}
		labels := a.objects[path]["metadata"].(object)["labels"].(object)
		if err != nil || !reflect.DeepEqual(a.objects[path]["spec"], want) || labels[labelProject] != "lineage" || a.calls["PATCH "+path] != test.patches {
			t.Errorf("%s: %v, %d patches, %v", name, err, a.calls["PATCH "+path], a.objects[path])
		}
	}
}
