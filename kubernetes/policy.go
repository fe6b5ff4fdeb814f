package kubernetes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentform/agentform/internal/reach"
	"github.com/agentform/agentform/session"
)

// limitOf returns the limit of a session's network, as an annotation has it: its name, and the destinations
// that it allows as well.
func limitOf(c session.KubernetesConfig) string {
	return strings.Join(append([]string{c.Network}, c.NetworkAllow...), " ")
}

// dnsOfCluster are the pods with the cluster's DNS, and the address of its cache on each node
// (kubernetes.io/docs/tasks/administer-cluster/nodelocaldns).
func dnsOfCluster() []any {
	return []any{
		object{
			"namespaceSelector": object{"matchLabels": object{namespaceLabel: "kube-system"}},
			"podSelector":       object{"matchLabels": object{"k8s-app": "kube-dns"}},
		},
		object{"ipBlock": object{"cidr": "169.254.20.10/32"}},
	}
}

// namespaceLabel is the label that the API server gives each namespace, with its name.
const namespaceLabel = "kubernetes.io/metadata.name"

// portsOf returns a port of both protocols.
func portsOf(port int) []any {
	return []any{object{"protocol": "UDP", "port": int64(port)}, object{"protocol": "TCP", "port": int64(port)}}
}

// allowed returns the rules for destinations.
func allowed(destinations []string) (rules []any) {
	for _, text := range destinations {
		r, err := reach.Parse(text)
		if err != nil {
			continue // no manifest has it
		}
		to := object{"ipBlock": object{"cidr": r.Addresses.String()}}
		if r.Namespace != "" {
			to = object{"namespaceSelector": object{"matchLabels": object{namespaceLabel: r.Namespace}}}
		}
		rule := object{"to": []any{to}}
		if r.Port > 0 {
			rule["ports"] = portsOf(r.Port)
		}
		rules = append(rules, rule)
	}
	return rules
}

// policyOf returns the network policy of pods with these labels, which is removed with its owner;
// nil: no limit.
func policyOf(name string, selected map[string]string, owner object, limit string) *unstructured.Unstructured {
	network, also, _ := strings.Cut(limit, " ")
	if network != session.NetworkNone && network != session.NetworkRestricted {
		return nil
	}
	spec := object{"podSelector": object{"matchLabels": texts(selected)}, "policyTypes": []any{"Ingress", "Egress"}}
	var egress []any
	if network == session.NetworkRestricted {
		public := []any{
			object{"ipBlock": object{"cidr": "0.0.0.0/0", "except": []any{"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"}}},
			object{"ipBlock": object{"cidr": "::/0", "except": []any{"::1/128", "fc00::/7", "fe80::/10"}}},
		}
		egress = []any{object{"to": dnsOfCluster(), "ports": portsOf(53)}, object{"to": public}}
	}
	if egress = append(egress, allowed(strings.Fields(also))...); len(egress) > 0 {
		spec["egress"] = egress
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
		"metadata": object{"name": name, "labels": texts(selected), "ownerReferences": []any{owner}},
		"spec":     spec,
	}}
}

// policy returns the network policy of a target's session; nil: no limit. The garbage collector
// removes that of an earlier StatefulSet with this name at any time, so the name has the UID.
func (t target) policy(m session.Mark, limit string) *unstructured.Unstructured {
	set := t.set.Metadata
	owner := object{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": set.Name, "uid": set.UID}
	return policyOf(set.Name+"-"+set.UID, identity(m), owner, limit)
}

// limitNetwork makes and records the network policy of a session as declared, if it declares one,
// and notes it on the session's claim: later commands on the agent's files must not have more.
func limitNetwork(ctx context.Context, t *target, l session.Launch) error {
	limit := limitOf(settings(l.Spec))
	policy := t.policy(l.Mark, limit)
	if policy == nil {
		return nil
	}
	var noted struct{}
	note := object{"metadata": object{"annotations": object{annotationNetwork: limit}}}
	if err := t.cluster.patch(ctx, claims, t.runtime.config.claimOf(l.Dir), note, &noted); err != nil {
		return err
	}
	made, err := t.cluster.makePolicy(ctx, policy)
	if err != nil || t.record.Policy != nil && *t.record.Policy == made {
		return err
	}
	return t.update(ctx, func(k *record) error {
		k.Policy = &made
		return nil
	})
}

// makePolicy creates a network policy. It changes an existing one that differs.
func (c *cluster) makePolicy(ctx context.Context, policy *unstructured.Unstructured) (policyMade, error) {
	var made partial
	err := c.create(ctx, networkPolicies, policy, &made)
	if apierrors.IsAlreadyExists(err) {
		var is object
		if is, err = c.policyThere(ctx, policy.GetName(), &made); err == nil {
			err = c.putPolicy(ctx, policy, is, &made)
		}
	}
	return policyMade{made.Metadata.UID, made.Metadata.Generation}, err
}

// policyThere returns a network policy.
func (c *cluster) policyThere(ctx context.Context, name string, made *partial) (is object, err error) {
	if err := c.get(ctx, networkPolicies, name, &is); err != nil {
		return nil, err
	}
	return is, decode(is, made)
}

// putPolicy changes a network policy to its declaration.
func (c *cluster) putPolicy(ctx context.Context, policy *unstructured.Unstructured, is object, made *partial) error {
	if made.Metadata.Deleted != nil {
		return fmt.Errorf("kubernetes: the NetworkPolicy %s of namespace %s is being removed", policy.GetName(), c.namespace)
	}
	edited, err := comparePolicy(policy, made.Metadata, is)
	if err != nil || len(edited) == 0 {
		return err
	}
	metadata := policy.Object["metadata"].(object)
	return c.patch(ctx, networkPolicies, policy.GetName(), object{
		"metadata": object{"labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"]},
		"spec":     replacing("spec", is["spec"], policy.Object["spec"]),
	}, made)
}

// policyPrefix is the prefix of a network policy's fields in session.Edit.
const policyPrefix = "networkpolicy"

// comparePolicy returns how a network policy differs from its declaration, in its spec only if is has
// one.
func comparePolicy(policy *unstructured.Unstructured, m metadata, is object) (found []session.Edit, err error) {
	var declared object // with the types of JSON
	if err := decode(policy.Object, &declared); err != nil {
		return nil, err
	}
	report := func(field string, declared, actual any) {
		found = append(found, session.Edit{Field: policyPrefix + field, Declared: declared, Actual: actual})
	}
	compare(".metadata.labels", declared["metadata"].(object)["labels"], texts(m.Labels), report)
	for _, o := range policy.GetOwnerReferences() {
		if !slices.Contains(m.Owners, owner{string(o.UID)}) {
			report(".metadata.ownerReferences", o.Kind+" "+o.Name, nil)
		}
	}
	if spec, has := is["spec"]; has {
		compare(".spec", declared["spec"], spec, report)
	}
	return found, nil
}

// policyEdits returns the changes of a session's network policy since it was made. all are those of
// the namespace, by name.
func (t target) policyEdits(ctx context.Context, all map[string]metadata) []session.Edit {
	if t.record.Policy == nil || t.record.Spec == nil {
		return nil
	}
	limit := limitOf(settings(*t.record.Spec))
	policy := t.policy(t.record.Mark, limit)
	if policy == nil {
		return nil
	}
	m, there := all[policy.GetName()]
	if !there || m.Deleted != nil {
		return []session.Edit{{Field: policyPrefix, Declared: limit}}
	}
	var is object
	var err error
	if (policyMade{m.UID, m.Generation}) != *t.record.Policy {
		var now partial
		is, err = t.cluster.policyThere(ctx, m.Name, &now)
	}
	var found []session.Edit
	if err == nil {
		found, err = comparePolicy(policy, m, is)
	}
	if err != nil {
		return []session.Edit{{Field: policyPrefix + ".spec", Actual: "(" + err.Error() + ")"}}
	}
	return found
}
