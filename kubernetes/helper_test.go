package kubernetes

import (
	"slices"
	"testing"

	"github.com/agentform/agentform/session"
)

// TestHelperOfAnother checks that two agentforms use one pod for commands at a claim, that only the one
// that made it removes it, and that neither takes what has come in its place for it.
func TestHelperOfAnother(t *testing.T) {
	const path = "pods/claim-once"
	a, c := newAPI(t)
	a.runs = true
	begin := func(h *helpers, there *pod) {
		t.Helper()
		if name, err := h.begin(t.Context(), c, session.Mark{Project: "lineage"}, session.Spec{}, "/agentform", "claim", session.NetworkNone, there); err != nil || name != "claim-once" {
			t.Fatalf("%q, %v", name, err)
		}
	}
	uid := func() any {
		if o := a.objects[path]; o != nil {
			return o["metadata"].(object)["uid"]
		}
		return nil
	}
	var one, other helpers
	begin(&one, nil)
	first := uid()
	begin(&other, nil)
	if policies := a.names("networkpolicies"); uid() != first || !slices.Equal(policies, []string{"claim-once-" + first.(string)}) {
		t.Errorf("the other one has pod %v of policies %v, want that of the first, %v", uid(), policies, first)
	}
	calls := len(a.calls)
	begin(&one, &pod{Metadata: metadata{UID: first.(string)}})
	if len(a.calls) != calls {
		t.Errorf("a pod that serves is asked for: %v", a.calls)
	}
	other.close(c)
	if uid() != first {
		t.Error("the other one removed it")
	}

	// Its time is over.
	a.change(path, object{"status": object{"phase": "Failed", "containerStatuses": nil}})
	begin(&one, nil)
	second := uid()
	if second == first {
		t.Error("a pod that has ended is used")
	}

	// It was removed, and another agentform made one.
	delete(a.objects, path)
	begin(&other, nil)
	one.close(c)
	if uid() == nil {
		t.Error("the pod of the other one was removed")
	}
	other.close(c)
	if uid() != nil {
		t.Error("it is left")
	}
}

// TestRemoveOnlyThat removes no object that took the name of the one that is meant.
func TestRemoveOnlyThat(t *testing.T) {
	a, c := newAPI(t)
	a.put("statefulsets/a", object{"metadata": object{"name": "a"}})
	if err := c.remove(t.Context(), statefulSets, "a", "another", foreground); err != nil || a.objects["statefulsets/a"] == nil {
		t.Errorf("%v; it is %v", err, a.objects["statefulsets/a"])
	}
	is := a.objects["statefulsets/a"]["metadata"].(object)["uid"].(string)
	if err := c.remove(t.Context(), statefulSets, "a", is, foreground); err != nil || a.objects["statefulsets/a"] != nil {
		t.Errorf("%v; it is %v", err, a.objects["statefulsets/a"])
	}
}
