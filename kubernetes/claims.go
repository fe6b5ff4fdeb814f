package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentform/agentform/session"
)

// claimPrefix is the prefix of a claim's fields in session.Edit.
const claimPrefix = "persistentvolumeclaim.metadata."

// claim has the used fields of a claim.
type claim struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		Class     string   `json:"storageClassName"`
		Modes     []string `json:"accessModes"`
		Volume    string   `json:"volumeName"`
		Resources struct{ Requests map[string]string }
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// unused reports whether no volume was ever bound to the claim, so that nothing can be on it.
func (c claim) unused() bool { return c.Status.Phase == "Pending" && c.Spec.Volume == "" }

// ensureClaim creates a claim unless it exists. It reports whether it did, and returns the one that
// exists.
func (c *cluster) ensureClaim(ctx context.Context, o *unstructured.Unstructured) (made bool, there claim, err error) {
	err = c.get(ctx, claims, o.GetName(), &there)
	if apierrors.IsNotFound(err) {
		if err = c.create(ctx, claims, o, &there); err == nil {
			return true, there, nil
		}
		if apierrors.IsAlreadyExists(err) { // by another agentform, meanwhile
			err = c.get(ctx, claims, o.GetName(), &there)
		}
	}
	if err == nil && there.Metadata.Deleted != nil {
		err = fmt.Errorf("kubernetes: the claim %s of namespace %s is being removed", o.GetName(), c.namespace)
	}
	return false, there, err
}

// declareClaim makes a claim as it is declared, for a session that is created, and returns its UID if
// it created it. It replaces one that was never used, such as that of an apply that was killed.
func (c *cluster) declareClaim(ctx context.Context, o *unstructured.Unstructured) (made string, err error) {
	is, there, err := c.ensureClaim(ctx, o)
	if is {
		return there.Metadata.UID, nil
	}
	if err != nil {
		return "", err
	}
	class, _, err := unstructured.NestedString(o.Object, "spec", "storageClassName")
	if err != nil {
		return "", err
	}
	modes, _, err := unstructured.NestedStringSlice(o.Object, "spec", "accessModes")
	if err != nil {
		return "", err
	}
	more, err := there.lacks(o)
	others := !slices.Equal(modes, there.Spec.Modes)
	switch {
	case err != nil:
		return "", err
	case there.unused() && (class != there.Spec.Class || more != 0 || others):
		waits, err := waiting(ctx, c, o.GetName())
		switch {
		case err != nil:
			return "", err
		case waits == "":
			return c.replaceClaim(ctx, o, there)
		case class == "" && more == 0 && !others: // the class may be the default one
			return "", nil
		}
		return "", fmt.Errorf("kubernetes: the claim %s (class %q, not bound) is not as declared, and pod %s waits for it", o.GetName(), there.Spec.Class, waits)
	case class != "" && class != there.Spec.Class:
		return "", fmt.Errorf("kubernetes: the claim %s has the storage class %q, and %q is declared: a claim keeps its class (declare %q, or save the work on it and remove it: kubectl delete pvc %s -n %s)",
			o.GetName(), there.Spec.Class, class, there.Spec.Class, o.GetName(), c.namespace)
	case others:
		return "", fmt.Errorf("kubernetes: the claim %s has the access mode %s, and %s is declared: a claim keeps its mode (declare that, or save the work on it and remove it: kubectl delete pvc %s -n %s)",
			o.GetName(), strings.Join(there.Spec.Modes, ", "), strings.Join(modes, ", "), o.GetName(), c.namespace)
	case more > 0:
		return "", c.grow(ctx, o)
	}
	return "", nil
}

// lacks returns 1 if a claim is smaller than its declaration, -1 if it is larger.
func (c claim) lacks(o *unstructured.Unstructured) (int, error) {
	wanted, _, err := unstructured.NestedString(o.Object, "spec", "resources", "requests", "storage")
	if err != nil {
		return 0, err
	}
	is, err := resource.ParseQuantity(c.Spec.Resources.Requests["storage"])
	if err != nil {
		return 0, fmt.Errorf("kubernetes: the size of the claim %s: %w", c.Metadata.Name, err)
	}
	size := resource.MustParse(wanted) // it was created from a number
	return size.Cmp(is), nil
}

// waiting returns the name of a pod that waits for a claim, which stays until the pod ends; "":
// there is none. It removes the pod for commands.
func waiting(ctx context.Context, c *cluster, claim string) (pod string, err error) {
	if err := c.remove(ctx, pods, oneOff(claim), "", soon); err != nil {
		return "", err
	}
	all, err := listPartial(ctx, c, pods, metav1.ListOptions{LabelSelector: labelVolume + "=" + labelValue(claim)})
	if err != nil || len(all) == 0 {
		return "", err
	}
	return all[0].Metadata.Name, nil
}

// replaceClaim removes a claim that was never used, and returns the UID of the declared one, which it
// creates.
func (c *cluster) replaceClaim(ctx context.Context, o *unstructured.Unstructured, there claim) (made string, err error) {
	if err := c.remove(ctx, claims, o.GetName(), there.Metadata.UID, foreground); err != nil {
		return "", err
	}
	err = c.create(ctx, claims, o, &there)
	return there.Metadata.UID, err
}

// grow enlarges a claim to its declared size. The cluster decides whether its class allows that.
func (c *cluster) grow(ctx context.Context, o *unstructured.Unstructured) error {
	var grown struct{}
	err := c.patch(ctx, claims, o.GetName(), object{"spec": object{"resources": o.Object["spec"].(object)["resources"]}}, &grown)
	if err != nil {
		return fmt.Errorf("make the volume larger: %w", err)
	}
	return nil
}

// claimsThere returns the metadata of the namespace's claims by name. Those that lost the label of
// their project are needed, too.
func (c *cluster) claimsThere(ctx context.Context) (map[string]metadata, error) {
	all, err := listPartial(ctx, c, claims, metav1.ListOptions{})
	byName := make(map[string]metadata, len(all))
	for _, x := range all {
		byName[x.Metadata.Name] = x.Metadata
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
func (c *cluster) losing(m metadata) string {
	if m.Deleted == nil {
		return ""
	}
	return fmt.Sprintf("its claim %s of namespace %s is being deleted: the work on it is lost when its pod ends", m.Name, c.namespace)
}

// claimEdits returns the labels and annotations that the session's claim has lost. A claim of an
// earlier session may have that one's address, id and branch.
func (t made) claimEdits(m metadata) (found []session.Edit) {
	k := t.record
	if k.Spec == nil || k.Spec.Workspace.Path == "" {
		return nil
	}
	declared := t.config.claim(k.Mark, *k.Spec, k.Spec.Workspace.Path, k.Spec.Branch)
	annotations := declared.GetAnnotations()
	if k.Policy != nil {
		annotations[annotationNetwork] = limitOf(settings(*k.Spec))
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
	lost("annotations", annotations, m.Annotations, annotationPath, annotationNetwork)
	lost("labels", declared.GetLabels(), m.Labels, labelProject)
	return found
}

// putClaim puts back the labels and annotations that a session's claim has lost.
func putClaim(ctx context.Context, t *target) error {
	m := madeOf(*t)
	name := m.claimName()
	var there partial
	if err := t.cluster.get(ctx, claims, name, &there); err != nil {
		if apierrors.IsNotFound(err) { // the pod's events say so
			return nil
		}
		return err
	}
	change := map[string]object{"labels": {}, "annotations": {}}
	edited := m.claimEdits(there.Metadata)
	for _, e := range edited {
		kind, key, _ := strings.Cut(strings.TrimPrefix(e.Field, claimPrefix), ".")
		change[kind][key] = e.Declared
	}
	if len(edited) == 0 {
		return nil
	}
	return t.cluster.patch(ctx, claims, name, object{"metadata": change}, &there)
}
