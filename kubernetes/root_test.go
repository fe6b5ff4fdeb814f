package kubernetes

import (
	"context"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/session"
)

// TestRoot checks that a machine with another data directory has the same objects of a session,
// whose volume is at one path in the pod. Those of a session at another path keep that.
func TestRoot(t *testing.T) {
	for _, root := range []string{session.VolumeRoot, "/p/.agentform"} {
		a, c := newAPI(t)
		near := c.runtime(Config{DataDir: "/near/data:1", Lineage: "lineage", Shims: map[string]string{"amd64": "/near/data:1/bin/shim-1"}})
		far := c.runtime(Config{DataDir: "/far/data", Lineage: "lineage", Shims: map[string]string{"arm64": "/far/data/bin/shim-2"}})
		m := asMadeWith(t, func(s *session.Spec) { s.Workspace.Path = root + "/workspaces/a/b" }, func(*record, object) {})
		l := session.Launch{Mark: m.record.Mark, Name: "shop-a", Dir: m.record.Spec.Workspace.Path, Spec: *m.record.Spec}
		at, err := near.place(t.Context(), l, func(target, newPlace) error { return nil })
		if err != nil {
			t.Fatalf("%s: %v", root, err)
		}
		spec := a.objects["statefulsets/shop-a"]["spec"].(object)["template"].(object)["spec"].(object)
		main := spec["containers"].([]any)[0].(object)
		if got := main["volumeMounts"].([]any)[0].(object)["mountPath"]; got != root {
			t.Errorf("%s: the volume is at %v", root, got)
		}
		if got := main["command"].([]any)[programAt]; got != root+"/bin/"+install.Programs(near.config.Shims).Name() {
			t.Errorf("%s: the program is %v", root, got)
		}
		if got := main["env"].([]any)[0].(object)["value"]; got != root+"/home" {
			t.Errorf("%s: the home is %v", root, got)
		}
		for name, r := range map[string]*Runtime{"near": near, "far": far} {
			found, err := r.target(t.Context(), at)
			if err != nil {
				t.Fatalf("%s, %s: %v", root, name, err)
			}
			if got := found.runDir("r"); got != root+"/runs/r" {
				t.Errorf("%s, %s: the run is in %s", root, name, got)
			}
			made := madeOf(found)
			var there claim
			if err := c.get(t.Context(), claims, made.claimName(), &there); err != nil {
				t.Fatalf("%s, %s: %v", root, name, err)
			}
			edits, err := made.edits(session.Lifecycle{})
			if edits = append(edits, made.claimEdits(there.Metadata)...); err != nil || len(edits) > 0 {
				t.Errorf("%s, %s: edited: %+v, %v", root, name, edits, err)
			}
			held, err := r.Workspaces(t.Context())
			if err != nil || len(held) != 1 || held[0].Path != l.Dir {
				t.Errorf("%s, %s: workspaces %+v, %v", root, name, held, err)
			}
			lives, err := r.Observe(t.Context(), false)
			if err != nil || len(lives) != 1 || lives[0].Foreign || lives[0].Ours != (name == "near") {
				t.Errorf("%s, %s: %+v, %v", root, name, lives, err)
			}
		}
	}
}

// TestNoRoot checks that a workspace that cannot be on the volume is refused before anything is
// created.
func TestNoRoot(t *testing.T) {
	a, c := newAPI(t)
	r := c.runtime(Config{DataDir: "/p", Lineage: "lineage", Shims: map[string]string{"amd64": "/p/bin/shim-1"}})
	m := asMadeWith(t, func(s *session.Spec) { s.Workspace.Path = "/p/work" }, func(*record, object) {})
	l := session.Launch{Mark: m.record.Mark, Name: "shop-a", Dir: "/p/work", Spec: *m.record.Spec}
	_, podErr := r.podWith(t.Context(), c, l.Mark, l.Spec, l.Dir)
	_, placeErr := r.place(t.Context(), l, func(target, newPlace) error { return nil })
	for what, err := range map[string]error{"place": placeErr, "commands": podErr, "check": r.Check(context.Background(), l.Spec, nil)} {
		if err == nil || !strings.Contains(err.Error(), "/p/work is not on the session's volume") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(a.objects) > 0 {
		t.Errorf("created %v", a.objects)
	}
}
