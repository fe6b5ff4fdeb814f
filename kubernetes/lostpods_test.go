package kubernetes

import (
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
