package kubernetes

import (
	"cmp"
	"maps"
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestPodsByHand checks that an agent is not taken for dead whose pod has lost its labels, or its StatefulSet: the
// next apply would end it.
func TestPodsByHand(t *testing.T) {
	var set object
	m := asMade(t, func(k *record, o object) {
		text, err := k.text()
		if err != nil {
			t.Fatal(err)
		}
		o["metadata"].(object)["annotations"] = object{annotationRecord: text}
		set = o
	})
	labels := object{labelProject: "lineage", labelID: "a-1"}
	pod := func(labels object, owners []any) object {
		return object{"kind": "Pod", "apiVersion": "v1", "spec": object{"nodeName": "node-1"},
			"metadata": object{"name": "shop-a-0", "labels": labels, "annotations": object{annotationAddress: "session.a"}, "ownerReferences": owners},
			"status": object{"phase": "Running", "conditions": []any{object{"type": "Ready", "status": "True"}},
				"containerStatuses": []any{object{"name": containerName, "ready": true, "state": object{"running": object{}}}}}}
	}
	going := maps.Clone(set)
	going["metadata"] = maps.Clone(set["metadata"].(object))
	going["metadata"].(object)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	owned := []any{object{"uid": "uid-1"}}
	for name, c := range map[string]struct {
		set, pod object
		want     session.Liveness // empty: there is no session
		reason   string
	}{
		"as made":                         {set, pod(labels, owned), session.Alive, ""},
		"its labels are gone":             {set, pod(object{}, nil), session.Alive, ""},
		"it is gone":                      {set, nil, session.Dead, "its pod does not exist"},
		"its StatefulSet is gone":         {nil, pod(labels, nil), session.Unknown, "kubectl delete pod shop-a-0 -n n"},
		"its StatefulSet is going":        {going, pod(labels, owned), session.Unknown, "its StatefulSet is being removed"},
		"it goes with its StatefulSet":    {nil, pod(labels, owned), "", ""},
		"all of it is gone":               {nil, nil, "", ""},
		"its StatefulSet is another's":    {nil, pod(object{labelProject: "other", labelID: "a-1"}, nil), "", ""},
		"it is no session's, without set": {nil, pod(object{labelProject: "lineage"}, nil), "", ""},
	} {
		a, connection := newAPI(t)
		if c.set != nil {
			a.put("statefulsets/shop-a", c.set)
		}
		if c.pod != nil {
			a.put("pods/shop-a-0", c.pod)
		}
		lives, err := connection.runtime(m.config).Observe(t.Context(), c.want == session.Unknown)
		if err != nil || (len(lives) == 1) != (c.want != "") {
			t.Errorf("%s: %v, %v", name, lives, err)
			continue
		}
		if c.want == "" {
			continue
		}
		if l := lives[0]; l.Liveness != c.want || !strings.Contains(l.UnknownReason, c.reason) || l.Mark.ID != "a-1" || l.Foreign || l.Location.Container != "n/shop-a-0" {
			t.Errorf("%s: %s, %q, %+v", name, l.Liveness, l.UnknownReason, l)
		}
	}
}

// TestOrphan checks that nothing counts as done with a session whose pod lives on without its StatefulSet, and that no new
// StatefulSet takes that over.
func TestOrphan(t *testing.T) {
	a, c := newAPI(t)
	r, at, name := c.runtime(Config{DataDir: t.TempDir(), Lineage: "lineage"}), session.Location{Name: "shop-a"}, "pods/shop-a-0"
	put := func(metadata object) {
		metadata["name"] = "shop-a-0"
		a.put(name, object{"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "status": object{"phase": "Running"}})
	}
	note := object{annotationAddress: "session.a"}
	l := session.Launch{Mark: session.Mark{Project: "lineage", Address: "session.a", ID: "a-1", Run: "0123456789abcdef"}, Name: "shop-a", Dir: "/agentform/workspaces/a/b",
		Spec: session.Spec{Runtime: session.RuntimeSpec{Kind: "kubernetes", Kubernetes: &session.KubernetesConfig{Image: "a:1"}}}}
	put(object{"annotations": note})
	_, created := r.Create(t.Context(), l)
	for what, err := range map[string]error{"stop": r.Stop(t.Context(), at, l.Mark.Run, session.Stop{}), "remove": r.Remove(t.Context(), at), "create": created} {
		if err == nil || !strings.Contains(err.Error(), "kubectl delete pod shop-a-0 -n n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if left := append(a.names("statefulsets"), a.names("persistentvolumeclaims")...); len(left) > 0 || a.objects[name] == nil {
		t.Errorf("left: %v, pod %v", left, a.objects[name])
	}
	for what, metadata := range map[string]object{"owned": {"annotations": note, "ownerReferences": []any{object{"uid": "x"}}}, "somebody's": {}} {
		put(metadata)
		if err := cmp.Or(r.Stop(t.Context(), at, l.Mark.Run, session.Stop{}), r.Remove(t.Context(), at)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	put(object{"annotations": note}) // without its labels
	a.put("statefulsets/shop-a", object{"kind": "StatefulSet", "apiVersion": "apps/v1", "metadata": object{"name": "shop-a", "annotations": note},
		"spec": object{"selector": object{"matchLabels": object{labelProject: "lineage", labelID: "a-1"}}}})
	if err := r.Remove(t.Context(), at); err != nil || len(a.names("pods")) > 0 {
		t.Errorf("%v, and there is %v", err, a.names("pods"))
	}
}
