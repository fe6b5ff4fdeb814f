package kubernetes

import (
	"slices"
	"strings"
	"testing"

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
