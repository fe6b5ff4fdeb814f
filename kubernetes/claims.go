package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/agentform/agentform/session"
)

// claimPrefix is the prefix of a claim's fields in session.Edit.
const claimPrefix = "persistentvolumeclaim.metadata."

// claimsThere returns the metadata of the namespace's claims by name. Those that lost the label of
// their project are needed, too.
func (c *cluster) claimsThere(ctx context.Context) (map[string]metadata, error) {
	all, err := listPartial(ctx, c, claims, metav1.ListOptions{})
	byName := make(map[string]metadata, len(all))
	for _, claim := range all {
		byName[claim.Metadata.Name] = claim.Metadata
	}
	return byName, err
}

// claimName returns the name of the session's claim.
func (t made) claimName() string {
	if t.record.Spec == nil {
		return t.set.Metadata.Labels[labelVolume]
	}
	return t.claim(*t.record.Spec)
}

// losing returns why the workspace is lost when the pod ends; "": it is not.
func (c *cluster) losing(claim metadata) string {
	if claim.Deleted == nil {
		return ""
	}
	return fmt.Sprintf("its claim %s of namespace %s is being deleted: the work on it is lost when its pod ends", claim.Name, c.namespace)
}

// claimEdits returns the labels and annotations that the session's claim has lost. A claim of an
// earlier session may have that one's address, id and branch.
func (t made) claimEdits(claim metadata) (found []session.Edit) {
	k := t.record
	if k.Spec == nil || k.Spec.Workspace.Path == "" || k.Root != t.config.DataDir {
		return nil
	}
	declared := t.config.claim(k.Mark, *k.Spec, k.Spec.Workspace.Path, k.Spec.Branch)
	annotations := declared.GetAnnotations()
	if k.Policy != nil {
		annotations[annotationNetwork] = settings(*k.Spec).Network
	}
	lost := func(kind string, declared, is map[string]string, exact ...string) {
		for _, name := range slices.Sorted(maps.Keys(declared)) {
			value, there := is[name]
			switch {
			case !there:
				found = append(found, session.Edit{Field: claimPrefix + kind + "." + name, Declared: declared[name]})
			case slices.Contains(exact, name) && value != declared[name]:
				found = append(found, session.Edit{Field: claimPrefix + kind + "." + name, Declared: declared[name], Actual: value})
			}
		}
	}
	lost("annotations", annotations, claim.Annotations, annotationPath, annotationNetwork)
	lost("labels", declared.GetLabels(), claim.Labels, labelProject)
	return found
}

// putClaim puts back the labels and annotations that a session's claim has lost.
func putClaim(ctx context.Context, t *target) error {
	m := madeOf(*t)
	name := m.claimName()
	var claim partial
	if err := t.cluster.get(ctx, claims, name, &claim); err != nil {
		if apierrors.IsNotFound(err) { // the pod's events say so
			return nil
		}
		return err
	}
	change := map[string]object{"labels": {}, "annotations": {}}
	edited := m.claimEdits(claim.Metadata)
	for _, e := range edited {
		kind, key, _ := strings.Cut(strings.TrimPrefix(e.Field, claimPrefix), ".")
		change[kind][key] = e.Declared
	}
	if len(edited) == 0 {
		return nil
	}
	return t.cluster.patch(ctx, claims, name, object{"metadata": change}, &claim)
}
