package kubernetes

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestIgnored checks that what a session's manifest ignores is no edit, and that neither a revert nor a
// start puts it back. When it is ignored no longer it is found again.
func TestIgnored(t *testing.T) {
	const path, inPod = "statefulsets/shop-a", "statefulset.spec.template.spec."
	container := func(more object) object {
		more["name"] = "session"
		return object{"spec": object{"template": object{"spec": object{"containers": []any{more}}}}}
	}
	for name, test := range map[string]struct {
		change  object
		ignored []string
		left    []string // what counts
	}{
		"replicas":                          {object{"spec": object{"replicas": 3}}, []string{"statefulset.spec.replicas"}, nil},
		"a field that was added":            {object{"spec": object{"template": object{"spec": object{"priorityClassName": "low"}}}}, []string{inPod + "priorityClassName"}, nil},
		"below an object that is not there": {object{"spec": object{"template": object{"spec": object{"dnsConfig": object{"searches": []any{"a"}}}}}}, []string{inPod + "dnsConfig.searches"}, nil},
		"a field that was removed":          {object{"spec": object{"template": object{"spec": object{"automountServiceAccountToken": nil}}}}, []string{inPod + "automountServiceAccountToken"}, nil},
		"the resources of a container":      {container(object{"resources": object{"limits": object{"memory": "1Gi"}}}), []string{inPod + "containers[session].resources"}, nil},
		"a container": {object{"spec": object{"template": object{"spec": object{"containers": []any{object{"name": "proxy", "image": "p:1"}}}}}},
			[]string{inPod + "containers[proxy]"}, nil},
		"another one": {object{"spec": object{"minReadySeconds": 5, "template": object{"spec": object{"hostPID": true}}}}, []string{"statefulset.spec.minReadySeconds"}, []string{inPod + "hostPID"}},
		"all":         {object{"spec": object{"replicas": 3, "template": object{"spec": object{"hostPID": true}}}}, []string{"all"}, nil},
	} {
		a, c := newAPI(t)
		m := asMade(t, func(_ *record, o object) { a.put(path, o) })
		before := m.record.Spec
		a.change(path, change(t, m, test.change))
		r, at := c.runtime(m.config), session.Location{Name: "shop-a"}
		spec := *before
		spec.Lifecycle.IgnoreChanges = test.ignored
		edits := func(ignored session.Lifecycle) (fields []string) {
			t.Helper()
			now, err := r.target(t.Context(), at)
			if err != nil {
				t.Fatal(err)
			}
			all, err := madeOf(now).edits(ignored)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				fields = append(fields, e.Field)
			}
			return fields
		}
		all := edits(session.Lifecycle{})
		if left := edits(spec.Lifecycle); !slices.Equal(left, test.left) || len(all) <= len(left) {
			t.Errorf("%s: %v count of %v, want %v", name, left, all, test.left)
		}
		ignored := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return slices.Contains(test.left, f) })
		if err := r.Revert(t.Context(), at, spec); err != nil {
			t.Fatal(err)
		}
		if now := edits(session.Lifecycle{}); !slices.Equal(now, all) {
			t.Errorf("%s: after a revert %v, and before %v", name, now, all)
		}
		now, err := r.target(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if err := now.renew(t.Context(), session.Launch{Mark: m.record.Mark, Name: "shop-a", Spec: spec}); err != nil {
			t.Fatal(err)
		}
		if now := edits(session.Lifecycle{}); !slices.Equal(now, ignored) {
			t.Errorf("%s: after a start %v, want %v", name, now, ignored)
		}
		k := now.record
		k.Spec = &spec
		if n, err := generation(now, k, spec.Lifecycle); err != nil || (n == noGeneration) != (len(ignored) > 0) {
			t.Errorf("%s: with %v the generation is %d, %v", name, ignored, n, err)
		}
	}
}

// change returns a patch whose containers are merged into those of a set.
func change(t *testing.T, m made, patch object) object {
	t.Helper()
	spec, _ := patch["spec"].(object)["template"].(object)
	if spec == nil {
		return patch
	}
	pod := spec["spec"].(object)
	more, is := pod["containers"].([]any)
	if !is {
		return patch
	}
	var template object
	if err := json.Unmarshal(m.set.Spec.Template, &template); err != nil {
		t.Fatal(err)
	}
	all := template["spec"].(object)["containers"].([]any)
	for _, x := range more {
		if i := slices.IndexFunc(all, func(c any) bool { return nameOf(c) == nameOf(x) }); i >= 0 {
			all[i] = merged(all[i], x)
		} else {
			all = append(all, x)
		}
	}
	pod["containers"] = all
	return patch
}
