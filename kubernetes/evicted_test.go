package kubernetes

import (
	"testing"
	"time"

	"github.com/agentform/agentform/session"
)

// TestEvictions checks which events say why a session has lost its pod.
func TestEvictions(t *testing.T) {
	began := time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC)
	event := func(reason, message, field string, at time.Time) object {
		o := object{"metadata": object{"name": "e", "creationTimestamp": began}, "reason": reason, "message": message, "involvedObject": object{"name": "shop-a-0"}}
		if field == "lastTimestamp" {
			o["lastTimestamp"] = at
		} else {
			o["metadata"].(object)["creationTimestamp"] = at
		}
		return o
	}
	later := began.Add(time.Minute)
	for name, test := range map[string]struct {
		event object
		was   string
		want  string
	}{
		"evicted":             {event("Evicted", "The node was low on resource: memory. ", "lastTimestamp", later), "its agent is gone", "its pod was evicted: The node was low on resource: memory"},
		"waits":               {event("Evicted", "x", "lastTimestamp", later), "its pod does not run: no node", "its pod was evicted: x; the next one does not run: no node"},
		"preempted":           {event("Preempted", "Preempted by pod 1f on node a", "creationTimestamp", later), "", "its pod was removed for one of a higher priority: Preempted by pod 1f on node a"},
		"a taint":             {event("TaintManagerEviction", "Marking for deletion Pod n/shop-a-0", "lastTimestamp", later), "", "its pod was evicted because of a taint of its node, as of one that does not report: Marking for deletion Pod n/shop-a-0"},
		"a taint, taken back": {event("TaintManagerEviction", "Cancelling deletion of Pod n/shop-a-0", "lastTimestamp", later), "lost", "lost"},
		"of an earlier run":   {event("Evicted", "x", "lastTimestamp", began.Add(-time.Minute)), "lost", "lost"},
		"another reason":      {event("Killing", "Stopping container", "lastTimestamp", later), "lost", "lost"},
	} {
		a, c := newAPI(t)
		a.put("events/e", test.event)
		lives := []session.Live{{Location: session.Location{Name: "shop-a"}, Liveness: session.Dead, Started: began, UnknownReason: test.was}}
		c.addEvictions(t.Context(), lives)
		if got := lives[0].UnknownReason; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
