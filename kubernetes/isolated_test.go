package kubernetes

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestIsolated checks that nothing is executed in a pod whose node does not report: it would wait until it
// times out.
func TestIsolated(t *testing.T) {
	a, c := newAPI(t)
	m := asMade(t, func(k *record, o object) {
		text, err := k.text()
		if err != nil {
			t.Fatal(err)
		}
		o["metadata"].(object)["annotations"] = object{annotationRecord: text}
		a.put("statefulsets/shop-a", o)
	})
	a.put("pods/shop-a-0", object{"kind": "Pod", "apiVersion": "v1", "metadata": object{"name": "shop-a-0"}, "spec": object{"nodeName": "node-1"}, "status": object{"phase": "Running",
		"conditions":        []any{object{"type": "Ready", "status": "False", "reason": "NodeStatusUnknown"}, object{"type": "ContainersReady", "status": "True"}},
		"containerStatuses": []any{object{"name": containerName, "state": object{"running": object{}}}}}})
	_, err := c.runtime(m.config).Capture(t.Context(), session.Location{Name: "shop-a"}, 0)
	if err == nil || !strings.Contains(err.Error(), "node node-1 does not report") || a.calls["POST pods/shop-a-0/exec"]+a.calls["GET pods/shop-a-0/exec"] > 0 {
		t.Errorf("%v, after %v", err, a.calls)
	}
}
