package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentform/agentform/session"
)

// TestClaimEdited checks that labels and annotations that a claim has lost are found and put back,
// and that the deletion of a claim is reported.
func TestClaimEdited(t *testing.T) {
	labels := func(o object) object { return object{"metadata": object{"labels": o}} }
	annotations := func(o object) object { return object{"metadata": object{"annotations": o}} }
	const label, annotation = "persistentvolumeclaim.metadata.labels.", "persistentvolumeclaim.metadata.annotations."
	for name, test := range map[string]struct {
		change object
		want   []string
	}{
		"nothing":                {object{}, nil},
		"of an earlier session":  {merged(labels(object{labelID: "b"}), annotations(object{annotationAddress: "session.b", annotationBranch: "b"})).(object), nil},
		"more":                   {merged(labels(object{"more": "x"}), annotations(object{"more": "x"})).(object), nil},
		"the project":            {labels(object{labelProject: nil}), []string{label + labelProject}},
		"another project":        {labels(object{labelProject: "x"}), []string{label + labelProject}},
		"all labels":             {object{"metadata": object{"labels": nil}}, []string{label + labelID, label + labelProject, label + "app.kubernetes.io/managed-by"}},
		"the path":               {annotations(object{annotationPath: nil}), []string{annotation + annotationPath}},
		"another path":           {annotations(object{annotationPath: "/x"}), []string{annotation + annotationPath}},
		"the branch":             {annotations(object{annotationBranch: nil}), []string{annotation + annotationBranch}},
		"the limit of helpers":   {annotations(object{annotationNetwork: nil}), []string{annotation + annotationNetwork}},
		"another limit of those": {annotations(object{annotationNetwork: "open"}), []string{annotation + annotationNetwork}},
	} {
		a, target, l := limited(t)
		r := target.runtime
		if err := limitNetwork(t.Context(), &target, l); err != nil {
			t.Fatal(err)
		}
		see := func() session.Live {
			t.Helper()
			lives, err := r.Observe(t.Context(), false)
			if err != nil || len(lives) != 1 {
				t.Fatal(lives, err)
			}
			return lives[0]
		}
		path := "persistentvolumeclaims/" + r.config.claimOf(l.Dir)
		a.change(path, test.change)
		var fields []string
		for _, e := range see().Edited {
			fields = append(fields, e.Field)
		}
		if !slices.Equal(fields, test.want) {
			t.Errorf("%s: %v, want %v", name, fields, test.want)
		}
		if err := r.Revert(t.Context(), session.Location{Name: l.Name}, l.Spec); err != nil {
			t.Fatal(err)
		}
		if l := see(); l.Edited != nil || l.Losing != "" {
			t.Errorf("%s: after it was put back: %v, %s", name, l.Edited, l.Losing)
		}
		a.change(path, object{"metadata": object{"deletionTimestamp": "2026-11-29T01:00:00Z"}})
		if l := see(); l.Edited != nil || !strings.Contains(l.Losing, r.config.claimOf(l.Spec.Workspace.Path)+" of namespace n is being deleted") {
			t.Errorf("%s: being deleted: %v, %s", name, l.Edited, l.Losing)
		}
	}
}

// classed returns the claim of a spec.
func classed(c Config, class string, size int64) object {
	k := &session.KubernetesConfig{Storage: session.PodStorage{Class: class, Size: size}}
	return c.claim(session.Mark{Project: "lineage", Address: "session.a", ID: "a-1"}, session.Spec{Runtime: session.RuntimeSpec{Kubernetes: k}}, "/data/workspaces/a/b", "").Object
}

// TestClaimThere checks what becomes of a claim that exists already when a session is created.
func TestClaimThere(t *testing.T) {
	const gi = 1 << 30
	pending, bound := object{"status": object{"phase": "Pending"}}, object{"status": object{"phase": "Bound"}, "spec": object{"volumeName": "v"}}
	for name, test := range map[string]struct {
		class string // of the one that is there
		size  int64
		is    object
		wants string // the declared class
		makes bool   // another one
		grows bool
		err   string
	}{
		"never bound, another class":       {"never", gi, pending, "local", true, false, ""},
		"never bound, no class declared":   {"never", gi, pending, "", true, false, ""},
		"never bound, and too large":       {"local", 1000 * gi, pending, "local", true, false, ""},
		"never bound, and smaller":         {"local", gi / 2, pending, "local", true, false, ""},
		"never bound":                      {"local", gi, pending, "local", false, false, ""},
		"made for a volume, not yet bound": {"never", gi, merged(pending, object{"spec": object{"volumeName": "v"}}).(object), "local", false, false, `class "never", and "local" is declared`},
		"another class":                    {"never", gi, bound, "local", false, false, `has the storage class "never", and "local" is declared`},
		"no class declared":                {"local", gi, bound, "", false, false, ""},
		"larger":                           {"local", 2 * gi, bound, "local", false, false, ""},
		"smaller":                          {"local", gi / 2, bound, "local", false, true, ""},
		"lost its volume":                  {"never", gi, object{"status": object{"phase": "Lost"}}, "local", false, false, `class "never"`},
		"another mode":                     {"local", gi, merged(bound, object{"spec": object{"accessModes": []any{"ReadWriteOnce"}}}).(object), "local", false, false, "has the access mode ReadWriteOnce, and ReadWriteOncePod is declared"},
		"never bound, another mode":        {"local", gi, merged(pending, object{"spec": object{"accessModes": []any{"ReadWriteOnce"}}}).(object), "local", true, false, ""},
		"removed":                          {"local", gi, object{"metadata": object{"deletionTimestamp": "2026-11-29T01:00:00Z"}}, "local", false, false, "is being removed"},
	} {
		a, c := newAPI(t)
		config := Config{DataDir: "/data", Lineage: "lineage"}
		path := "persistentvolumeclaims/" + config.claimOf("/data/workspaces/a/b")
		a.put(path, merged(classed(config, test.class, test.size), test.is).(object))
		uid := a.objects[path]["metadata"].(object)["uid"]
		is, err := c.declareClaim(t.Context(), &unstructured.Unstructured{Object: classed(config, test.wants, gi)})
		made := is != ""
		if made != test.makes || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: made %v, %v; want %v, %q", name, made, err, test.makes, test.err)
		}
		now := a.objects[path]["metadata"].(object)["uid"]
		if (now != uid) != test.makes || a.calls["PATCH "+path] > 0 != test.grows {
			t.Errorf("%s: it is another one: %v, patched %d times", name, now != uid, a.calls["PATCH "+path])
		}
		if class, _, _ := unstructured.NestedString(a.objects[path], "spec", "storageClassName"); test.makes && class != test.wants {
			t.Errorf("%s: the class is %q", name, class)
		}
	}
}

// TestClaimWaitedFor checks that a claim is not removed while a session's pod waits for it.
func TestClaimWaitedFor(t *testing.T) {
	for name, test := range map[string]struct {
		pod, wants string
		makes      bool
		err        string
	}{
		"another class":     {"shop-a-0", "local", false, "pod shop-a-0 waits for it"},
		"the default class": {"shop-a-0", "", false, ""},
		"a command's pod":   {"-once", "local", true, ""},
	} {
		a, c := newAPI(t)
		config := Config{DataDir: "/data", Lineage: "lineage"}
		claim := config.claimOf("/data/workspaces/a/b")
		pod := strings.Replace(test.pod, "-once", oneOff(claim), 1)
		a.put("persistentvolumeclaims/"+claim, merged(classed(config, "never", 1), object{"status": object{"phase": "Pending"}}).(object))
		a.put("pods/"+pod, object{"metadata": object{"name": pod, "labels": object{labelVolume: claim}}})
		is, err := c.declareClaim(t.Context(), &unstructured.Unstructured{Object: classed(config, test.wants, 1)})
		made := is != ""
		if made != test.makes || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: made %v, %v; want %v, %q", name, made, err, test.makes, test.err)
		}
		if removed := a.calls["DELETE persistentvolumeclaims/"+claim] > 0; removed != test.makes {
			t.Errorf("%s: the claim was removed: %v", name, removed)
		}
	}
}

// TestCorrected creates a session that fails, or whose agentform is killed at one of the steps, and
// creates it again as a corrected manifest declares it.
func TestCorrected(t *testing.T) {
	with := func(class string) session.Launch {
		m := asMadeWith(t, func(s *session.Spec) { s.Runtime.Kubernetes.Storage = session.PodStorage{Class: class, Size: 1 << 30} }, func(*record, object) {})
		return session.Launch{Mark: m.record.Mark, Name: "shop-a", Dir: m.record.Spec.Workspace.Path, Spec: *m.record.Spec}
	}
	failure := errors.New("no place")
	for _, wrong := range []string{"never", "", "local"} {
		for _, ends := range []string{"it fails", "killed after the claim", "killed after the set"} {
			name := fmt.Sprintf("class %q, %s", wrong, ends)
			a, c := newAPI(t)
			r := c.runtime(Config{DataDir: "/data", Lineage: "lineage"})
			l := with(wrong)
			_, err := r.place(t.Context(), l, func(t target, n newPlace) error {
				if ends == "it fails" {
					return failure
				}
				return nil
			})
			claimPath := "persistentvolumeclaims/" + r.config.claimOf(l.Dir)
			switch ends {
			case "it fails":
				if !errors.Is(err, failure) || len(a.objects) > 0 {
					t.Errorf("%s: %v, left %v", name, err, a.objects)
				}
			default:
				a.change(claimPath, object{"status": object{"phase": "Pending"}})
			}
			if ends == "killed after the claim" {
				delete(a.objects, "statefulsets/shop-a")
			}
			if ends == "killed after the set" { // a plan replaces it
				if err := r.Remove(t.Context(), session.Location{Name: "shop-a"}); err != nil {
					t.Fatal(err)
				}
			}
			held, err := r.Workspaces(t.Context())
			if err != nil || len(held) > 0 && held[0].Exists {
				t.Errorf("%s: %v, there is a workspace: %+v", name, err, held)
			}
			l = with("local")
			l.Mark.Run = "fedcba9876543210"
			if _, err := r.place(t.Context(), l, func(target, newPlace) error { return nil }); err != nil {
				t.Errorf("%s: corrected: %v", name, err)
			}
			class, _, _ := unstructured.NestedString(a.objects[claimPath], "spec", "storageClassName")
			if len(a.objects) != 2 || len(a.names("statefulsets")) != 1 || class != "local" {
				t.Errorf("%s: class %q, objects %v", name, class, a.objects)
			}
		}
	}
}
