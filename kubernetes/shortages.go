package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/agentform/agentform/session"
)

// The resources that limit sessions in a cluster.
var (
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	quotas         = schema.GroupVersionResource{Version: "v1", Resource: "resourcequotas"}
	storageClasses = schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "storageclasses"}
	accessReviews  = schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "selfsubjectaccessreviews"}
)

// A Shortage is something that sessions need and a cluster lacks.
type Shortage struct {
	Summary, Detail string
	Final           bool // the sessions cannot start before it is fixed
	Needed          []session.Address
}

// Shortages returns what a cluster lacks for sessions that are to start in it: the namespace,
// rights, storage classes, and what quotas leave. created reports whether a session exists. All
// requests are concurrent. What the account may not read, and a cluster that does not answer, is
// not a shortage.
func Shortages(ctx context.Context, r *Runtime, specs []session.Spec, created func(session.Address) bool) []Shortage {
	c, err := r.cluster()
	if err != nil || len(specs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var fresh []session.Spec
	for _, s := range specs {
		if created(s.Address) {
			fresh = append(fresh, s)
		}
	}
	var found [4][]Shortage
	var wg sync.WaitGroup
	wg.Go(func() { found[0] = c.missingNamespace(ctx, specs) })
	wg.Go(func() { found[1] = c.missingRights(ctx, specs) })
	wg.Go(func() { found[2] = c.missingClasses(ctx, fresh) })
	wg.Go(func() { found[3] = exceededQuotas(ctx, r, c, fresh) })
	wg.Wait()
	if len(found[0]) > 0 { // then nothing else is known
		return found[0]
	}
	return slices.Concat(found[:]...)
}

func addresses(specs []session.Spec) []session.Address {
	all := make([]session.Address, len(specs))
	for i, s := range specs {
		all[i] = s.Address
	}
	return all
}

func (c *cluster) missingNamespace(ctx context.Context, specs []session.Spec) []Shortage {
	_, err := c.dynamic.Resource(namespaces).Get(ctx, c.namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return nil
	}
	return []Shortage{{
		Summary: fmt.Sprintf("namespace %q does not exist", c.namespace),
		Detail:  fmt.Sprintf("create it: kubectl create namespace %s\nor name another one with namespace in the runtime block", c.namespace),
		Final:   true, Needed: addresses(specs),
	}}
}

// missingRights checks each verb of the Role.
func (c *cluster) missingRights(ctx context.Context, specs []session.Spec) []Shortage {
	policies := slices.ContainsFunc(specs, func(s session.Spec) bool {
		n := settings(s).Network
		return n == session.NetworkNone || n == session.NetworkRestricted
	})
	rules := Rules()
	lacking := make([][]string, len(rules)) // verbs, by rule
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, r := range rules {
		if r.Resource == networkPolicies.Resource && !policies {
			continue
		}
		for _, verb := range r.Verbs {
			wg.Go(func() {
				if !c.mayNot(ctx, r, verb) {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				lacking[i] = append(lacking[i], verb)
			})
		}
	}
	wg.Wait()
	var lines []string
	for i, r := range rules {
		if len(lacking[i]) > 0 {
			slices.Sort(lacking[i])
			lines = append(lines, fmt.Sprintf("%s of %s: for %s", strings.Join(lacking[i], ", "), r.Resource, r.For))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return []Shortage{{
		Summary: fmt.Sprintf("rights are missing in namespace %q", c.namespace),
		Detail:  strings.Join(lines, "\n") + "\nagentform runtime role prints the Role with all that agentform needs",
		Needed:  addresses(specs),
	}}
}

// mayNot reports whether the cluster denies the account a right.
func (c *cluster) mayNot(ctx context.Context, r Rule, verb string) bool {
	name, sub, _ := strings.Cut(r.Resource, "/")
	answer, err := c.dynamic.Resource(accessReviews).Create(ctx, &unstructured.Unstructured{Object: object{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
		"spec": object{"resourceAttributes": object{"namespace": c.namespace, "group": r.Group, "resource": name, "subresource": sub, "verb": verb}},
	}}, metav1.CreateOptions{})
	if err != nil {
		return false
	}
	allowed, known, _ := unstructured.NestedBool(answer.Object, "status", "allowed")
	return known && !allowed
}

// missingClasses checks the storage classes of new volumes. A cluster without a default class can
// still have volumes for claims without one.
func (c *cluster) missingClasses(ctx context.Context, specs []session.Spec) (found []Shortage) {
	needed := map[string][]session.Address{}
	for _, s := range specs {
		if class := settings(s).Storage.Class; class != "" {
			needed[class] = append(needed[class], s.Address)
		}
	}
	for _, class := range slices.Sorted(maps.Keys(needed)) {
		_, err := c.dynamic.Resource(storageClasses).Get(ctx, class, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			found = append(found, Shortage{Summary: fmt.Sprintf("storage class %q does not exist", class),
				Detail: "kubectl get storageclass lists those of the cluster; set storage.class of the runtime", Final: true, Needed: needed[class]})
		}
	}
	return found
}

// exceededQuotas compares the unused quotas with the needs of new sessions.
func exceededQuotas(ctx context.Context, r *Runtime, c *cluster, specs []session.Spec) (found []Shortage) {
	if len(specs) == 0 {
		return nil
	}
	volumes, err := list[struct{ Metadata metadata }](ctx, c, claims, metav1.ListOptions{LabelSelector: r.config.selector()})
	if err != nil {
		return nil
	}
	kept := map[string]bool{}
	for _, v := range volumes {
		kept[v.Metadata.Name] = true
	}
	all := map[string]*resource.Quantity{}
	for _, s := range specs {
		need(all, s, kept[r.config.claimOf(s.Workspace.Path)])
	}
	type quota struct {
		Metadata metadata `json:"metadata"`
		Spec     struct {
			Scopes   []string `json:"scopes"`
			Selector any      `json:"scopeSelector"`
		} `json:"spec"`
		Status struct {
			Hard, Used map[string]resource.Quantity
		} `json:"status"`
	}
	limits, _ := list[quota](ctx, c, quotas, metav1.ListOptions{}) // without the right to list them, they are unknown
	for _, q := range limits {
		if q.Spec.Scopes != nil || q.Spec.Selector != nil { // may apply to other pods
			continue
		}
		var lines []string
		for _, key := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			needs, most, used := all[key], q.Status.Hard[key], q.Status.Used[key]
			left := most.DeepCopy()
			if left.Sub(used); needs != nil && left.Cmp(*needs) < 0 {
				lines = append(lines, fmt.Sprintf("%s: %s of %s are used, the plan needs %s more", key, used.String(), most.String(), needs.String()))
			}
		}
		if len(lines) > 0 {
			found = append(found, Shortage{Summary: fmt.Sprintf("quota %q in namespace %q does not suffice", q.Metadata.Name, c.namespace),
				Detail: strings.Join(lines, "\n"), Needed: addresses(specs)})
		}
	}
	return found
}

// need adds the needs of a new session, by the quotas' names for them.
func need(all map[string]*resource.Quantity, s session.Spec, hasVolume bool) {
	add := func(q resource.Quantity, names ...string) {
		for _, name := range names {
			if all[name] == nil {
				all[name] = resource.NewQuantity(0, q.Format)
			}
			all[name].Add(q)
		}
	}
	one := resource.MustParse("1")
	add(one, "pods", "count/pods", "count/statefulsets.apps")
	k := settings(s)
	if !hasVolume {
		size := resource.MustParse(strconv.FormatInt(cmp.Or(k.Storage.Size, DefaultStorage), 10))
		size.Format = resource.BinarySI
		add(one, "persistentvolumeclaims", "count/persistentvolumeclaims")
		add(size, "requests.storage")
		if k.Storage.Class != "" {
			class := k.Storage.Class + ".storageclass.storage.k8s.io/"
			add(one, class+"persistentvolumeclaims")
			add(size, class+"requests.storage")
		}
	}
	for kind, values := range resources(k) {
		for name, value := range values.(object) {
			text, _ := value.(string)
			q, err := resource.ParseQuantity(text)
			if err != nil {
				continue // the cluster reports what is wrong
			}
			if name == "memory" {
				q.Format = resource.BinarySI
			}
			names := []string{kind + "." + name}
			if kind == "requests" && (name == "cpu" || name == "memory") {
				names = append(names, name)
			}
			add(q, names...)
		}
	}
}
