package kubernetes

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentform/agentform/internal/contained"
	"github.com/agentform/agentform/session"
)

// editPrefix is the prefix of fields in session.Edit.
const editPrefix = "statefulset."

// templatePrefix is the prefix of fields whose change makes the cluster replace the pod.
const templatePrefix = editPrefix + "spec.template."

// made is a session's StatefulSet, for comparison with the one that agentform created.
type made struct {
	config Config
	set    statefulSet
	record record
}

func madeOf(t target) made { return made{t.runtime.config, t.set, t.record} }

// declared returns the StatefulSet that agentform creates for a spec, as the API server stores it
// except for the defaults. It lacks what only a start sets, such as the address. What a lifecycle block
// ignores is as it is in the cluster.
func (t made) declared(m session.Mark, spec session.Spec, ignored session.Lifecycle) (object, error) {
	set, err := setOf(session.Launch{Mark: m, Name: t.set.Metadata.Name, Spec: spec, Stop: spec.Stop}, t.record, t.claim(spec))
	if err != nil {
		return nil, err
	}
	for _, at := range [][]string{{"metadata", "annotations"}, {"spec", "template", "metadata", "annotations"}} {
		for _, name := range []string{annotationAddress, annotationHash, annotationRecord} {
			unstructured.RemoveNestedField(set.Object, append(slices.Clone(at), name)...)
		}
	}
	var all object // with the types of JSON
	if err := decode(set.Object, &all); err != nil {
		return nil, err
	}
	pod := all["spec"].(object)["template"].(object)["spec"].(object)
	if account, is := pod["serviceAccountName"]; is {
		pod["serviceAccount"] = account // its earlier name
	}
	for _, list := range []string{"containers", "initContainers"} {
		containers, _ := pod[list].([]any)
		for _, c := range containers {
			if c, is := c.(object); is && c["imagePullPolicy"] == nil {
				image, _ := c["image"].(string)
				c["imagePullPolicy"] = pullPolicy(image)
			}
		}
	}
	if len(ignored.IgnoreChanges) > 0 {
		is, err := t.set.Spec.mutable()
		if err != nil {
			return nil, err
		}
		all["spec"] = keeping(strings.TrimSuffix(session.SetFields, "."), all["spec"], is, ignored)
	}
	return all, nil
}

// keeping returns a declaration with the actual values of what is ignored.
func keeping(at string, declared, actual any, ignored session.Lifecycle) any {
	if ignored.Ignores(at) {
		return actual
	}
	d, isObject := declared.(object)
	a, alsoObject := actual.(object)
	if isObject || declared == nil && alsoObject {
		kept := object{}
		for _, names := range []object{d, a} {
			for name := range names {
				if value := keeping(at+"."+name, d[name], a[name], ignored); value != nil {
					kept[name] = value
				}
			}
		}
		if !isObject && len(kept) == 0 {
			return nil
		}
		return kept
	}
	list, isList := declared.([]any)
	has, alsoList := actual.([]any)
	byName, named := names(list)
	there, alsoNamed := names(has)
	if !(isList || declared == nil) || !alsoList || !named || !alsoNamed {
		return declared
	}
	var kept []any
	for _, e := range append(slices.Clone(list), has...) {
		name := nameOf(e)
		if slices.ContainsFunc(kept, func(k any) bool { return nameOf(k) == name }) {
			continue
		}
		if value := keeping(at+"["+name+"]", byName[name], there[name], ignored); value != nil {
			kept = append(kept, value)
		}
	}
	if kept == nil {
		return declared
	}
	return kept
}

// claim returns the name of the claim with the workspace of a spec.
func (t made) claim(spec session.Spec) string {
	if spec.Workspace.Path == "" {
		return t.set.Metadata.Labels[labelVolume]
	}
	return t.config.claimOf(spec.Workspace.Path)
}

// pullPolicy returns the policy that the API server sets for an image.
func pullPolicy(image string) string {
	name, digest, _ := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], "@")
	_, tag, tagged := strings.Cut(name, ":")
	if tag == "latest" || !tagged && digest == "" {
		return "Always"
	}
	return "IfNotPresent"
}

// defaults are the values that the API server sets where a declaration has none, by the names of
// their fields.
var defaults = map[string]any{
	"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
	"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "apiVersion": "v1", "divisor": "0",
	"timeoutSeconds": 1.0, "periodSeconds": 10.0, "failureThreshold": 3.0, // of probes
	"protocol": "TCP", "scheme": "HTTP", "successThreshold": 1.0, "defaultMode": 420.0,
	"type": "RollingUpdate", "partition": 0.0, "maxUnavailable": 1.0, // of updateStrategy
	"whenDeleted": "Retain", "whenScaled": "Retain",
}

// isFree reports whether an object is a map whose further keys are not agentform's.
func isFree(at string) bool {
	return strings.HasSuffix(at, "metadata.labels") || strings.HasSuffix(at, "metadata.annotations")
}

// edits returns the changes of the StatefulSet since agentform created it from the spec in its
// record, without those that are ignored. It compares the spec only if the cluster counts more changes
// than agentform's, so that a set of another version does not count as edited.
func (t made) edits(ignored session.Lifecycle) ([]session.Edit, error) {
	k, m := t.record, t.set.Metadata
	if k.Spec == nil {
		return nil, nil
	}
	unchanged := k.Generation == m.Generation
	if unchanged && contains(m.Labels, labelsOf(k.Mark, settings(*k.Spec), t.claim(*k.Spec))) && contains(m.Annotations, settings(*k.Spec).Annotations) {
		return nil, nil // the usual case
	}
	declared, err := t.declared(k.Mark, *k.Spec, ignored)
	if err != nil {
		return nil, err
	}
	metadata, spec := declared["metadata"].(object), declared["spec"].(object)
	wanted := object{"metadata": object{"labels": metadata["labels"], "annotations": metadata["annotations"]}}
	actual := object{"metadata": object{"labels": texts(m.Labels), "annotations": texts(m.Annotations)}}
	if !unchanged {
		is, err := t.set.Spec.mutable()
		if err != nil {
			return nil, err
		}
		maps.DeleteFunc(spec, func(name string, _ any) bool { _, changes := is[name]; return !changes })
		wanted["spec"], actual["spec"] = spec, is
	}
	var found []session.Edit
	compare("", wanted, actual, func(field string, declared, actual any) {
		field = editPrefix + strings.TrimPrefix(field, ".")
		if actual != nil && strings.Contains(field, "].env[") { // it may be secret
			if actual = "(added)"; declared != nil {
				actual = "(changed)"
			}
		}
		found = append(found, session.Edit{Field: field, Declared: declared, Actual: actual, Restarts: strings.HasPrefix(field, templatePrefix)})
	})
	return found, nil
}

// editsOrWhy returns the edits of a set. A lost record, and a set that cannot be compared, is an
// edit with the error.
func (t made) editsOrWhy(lost error) []session.Edit {
	if lost != nil {
		return []session.Edit{{Field: recordField, Declared: "(the session's run)", Actual: "(" + lost.Error() + ")"}}
	}
	edited, err := t.edits(session.Lifecycle{})
	if err != nil {
		return []session.Edit{{Field: editPrefix + "spec", Actual: "(" + err.Error() + ")"}}
	}
	return edited
}

// compare reports where an object differs from its declaration. What the declaration omits must be
// absent or have the API server's default.
func compare(at string, declared, actual any, report func(field string, declared, actual any)) {
	switch d := declared.(type) {
	case object:
		a, is := actual.(object)
		if !is && (actual != nil || len(d) == 0 && !isFree(at) && !dropped(at, d)) {
			report(at, declared, actual)
			return
		}
		for _, name := range slices.Sorted(maps.Keys(d)) {
			compare(at+"."+name, d[name], a[name], report)
		}
		if isFree(at) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if _, is := d[name]; !is {
				compareAdded(at+"."+name, a[name], report)
			}
		}
	case []any:
		compareLists(at, d, actual, report)
	default:
		if !same(at, declared, actual) {
			report(at, declared, actual)
		}
	}
}

// compareAdded reports what somebody added to an object.
func compareAdded(at string, actual any, report func(field string, declared, actual any)) {
	switch a := actual.(type) {
	case nil:
	case object:
		for _, name := range slices.Sorted(maps.Keys(a)) {
			compareAdded(at+"."+name, a[name], report)
		}
	case []any:
		if len(a) > 0 {
			report(at, nil, "(added)") // its values may be secret
		}
	default:
		if value, is := defaults[at[strings.LastIndexByte(at, '.')+1:]]; !is || value != a {
			report(at, nil, a)
		}
	}
}

// compareLists compares lists of named objects by element, and others as a whole.
func compareLists(at string, declared []any, actual any, report func(field string, declared, actual any)) {
	a, _ := actual.([]any)
	byName, named := names(declared)
	has, alsoNamed := names(a)
	if !named || !alsoNamed {
		differs := len(declared) != len(a)
		for i := 0; i < len(declared) && !differs; i++ {
			compare(at, declared[i], a[i], func(string, any, any) { differs = true })
		}
		if differs {
			report(at, declared, actual)
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		field := at + "[" + name + "]"
		if has[name] == nil {
			report(field, byName[name], nil)
		} else {
			compare(field, byName[name], has[name], report)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(has)) {
		if byName[name] == nil {
			report(at+"["+name+"]", nil, "(added)") // its values may be secret
		}
	}
}

// names returns the elements of a list by name, and whether all have one.
func names(list []any) (all map[string]any, ok bool) {
	all = make(map[string]any, len(list))
	for _, e := range list {
		name := nameOf(e)
		if name == "" {
			return nil, false
		}
		all[name] = e
	}
	return all, true
}

// nameOf returns what identifies an element of a list, or "".
func nameOf(element any) string {
	o, _ := element.(object)
	if target, is := o["mountPath"].(string); is {
		return target
	}
	name, _ := o["name"].(string)
	return name
}

// same reports whether two values are the same to the API server, which normalizes quantities.
func same(at string, a, b any) bool {
	if reflect.DeepEqual(a, b) || b == nil && dropped(at, a) {
		return true
	}
	x, isText := a.(string)
	y, alsoText := b.(string)
	if !isText || !alsoText || !strings.Contains(at, ".resources.") && !strings.HasSuffix(at, ".sizeLimit") {
		return false
	}
	p, err := resource.ParseQuantity(x)
	q, err2 := resource.ParseQuantity(y)
	return err == nil && err2 == nil && p.Cmp(q) == 0
}

// dropped reports whether the API server may drop a value that is declared: an empty one of the
// manifest's affinity. Others are declared only if they are kept.
func dropped(at string, declared any) bool {
	o, is := declared.(object)
	return strings.Contains(at, ".affinity.") && (is && len(o) == 0 || !is && reflect.ValueOf(declared).IsZero())
}

// Revert reverts the edits of a session's claim and its network policy, and those of its StatefulSet outside the
// template of its pod. It rewrites a lost record with that spec.
func (r *Runtime) Revert(ctx context.Context, p session.Location, spec session.Spec) (err error) {
	defer contained.Annotate(&err, "put back what was edited of", p.Name)
	t, err := r.target(ctx, p)
	if err != nil {
		return err
	}
	lost := t.record.Spec == nil
	if lost {
		t.record.Spec = &spec
	}
	k := t.record
	edited, err := madeOf(t).edits(spec.Lifecycle)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(edited, func(e session.Edit) bool { return !e.Restarts }) {
		declared, err := madeOf(t).declared(k.Mark, *k.Spec, spec.Lifecycle)
		if err != nil {
			return err
		}
		delete(declared["spec"].(object), "template")
		if err := t.put(ctx, declared); err != nil {
			return err
		}
	}
	if err := putClaim(ctx, &t); err != nil {
		return err
	}
	policy := t.policy(k.Mark, limitOf(settings(*k.Spec)))
	if policy != nil && (k.Policy != nil || lost) { // else no agent was started yet
		made, err := t.cluster.makePolicy(ctx, policy)
		if err != nil {
			return err
		}
		k.Policy = &made
	}
	if !slices.ContainsFunc(edited, restarts) {
		if k.Generation, err = generation(t, k, spec.Lifecycle); err != nil {
			return err
		}
	}
	return t.update(ctx, func(now *record) error {
		*now = k
		return nil
	})
}

// generation returns what a record has as the StatefulSet's generation after agentform's last change:
// none if something that is ignored differs, so that it is found when it is ignored no longer.
func generation(t target, k record, ignored session.Lifecycle) (int64, error) {
	if len(ignored.IgnoreChanges) == 0 {
		return t.set.Metadata.Generation, nil
	}
	k.Generation = noGeneration
	left, err := made{t.runtime.config, t.set, k}.edits(session.Lifecycle{})
	if err != nil || len(left) > 0 {
		return noGeneration, err
	}
	return t.set.Metadata.Generation, nil
}

// restarts reports whether reverting an edit restarts the agent.
func restarts(e session.Edit) bool { return e.Restarts }

// replacing returns a merge patch that turns an object into its declaration. Lists are replaced.
func replacing(at string, actual, declared any) any {
	a, _ := actual.(object)
	d, is := declared.(object)
	if !is {
		return declared
	}
	change := make(object, len(d))
	for name := range a {
		if !isFree(at) {
			change[name] = nil // removes it
		}
	}
	for name := range d {
		change[name] = replacing(at+"."+name, a[name], d[name])
	}
	return change
}

// put updates a StatefulSet to its declaration, which may lack the template. It removes what the
// declaration does not have.
func (t *target) put(ctx context.Context, declared object) error {
	spec := declared["spec"].(object)
	is, err := t.set.Spec.mutable()
	if err != nil {
		return err
	}
	if spec["template"] == nil {
		delete(is, "template")
	}
	return t.cluster.patch(ctx, statefulSets, t.set.Metadata.Name, object{"metadata": declared["metadata"], "spec": replacing("spec", is, spec)}, &t.set)
}

// renew updates the StatefulSet of a session without an agent to its declaration. It replaces the
// pod if the template was edited or now differs, and creates one if someone scaled the set to zero.
// When it returns, the pod of the earlier template is gone.
func (t *target) renew(ctx context.Context, l session.Launch) error {
	edited, err := madeOf(*t).edits(l.Spec.Lifecycle)
	if err != nil {
		return err
	}
	declared, err := madeOf(*t).declared(l.Mark, l.Spec, l.Spec.Lifecycle)
	if err != nil {
		return err
	}
	spec, replaces := declared["spec"].(object), slices.ContainsFunc(edited, restarts)
	if t.record.Spec != nil {
		before, err := madeOf(*t).declared(l.Mark, *t.record.Spec, l.Spec.Lifecycle)
		if err != nil {
			return err
		}
		replaces = replaces || !reflect.DeepEqual(before["spec"].(object)["template"], spec["template"]) // stop.grace
	}
	if len(edited) == 0 && !replaces && !t.set.stopped() {
		return nil
	}
	if replaces {
		spec["replicas"] = 0
		if err := t.put(ctx, declared); err != nil {
			return err
		}
		ending, cancel := context.WithTimeout(ctx, launchTimeout)
		defer cancel()
		if err := t.cluster.awaitGone(ending, pods, t.pod, ""); err != nil {
			return err
		}
	}
	delete(spec, "template")
	spec["replicas"] = 1
	return t.put(ctx, declared)
}
