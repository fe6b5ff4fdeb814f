package kubernetes

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentform/agentform/session"
)

// policyOf returns the network policy of pods with these labels, which is removed with its owner;
// nil: no limit.
func policyOf(name string, selected map[string]string, owner object, network string) *unstructured.Unstructured {
	if network != session.NetworkNone && network != session.NetworkRestricted {
		return nil
	}
	spec := object{"podSelector": object{"matchLabels": texts(selected)}, "policyTypes": []any{"Ingress", "Egress"}}
	if network == session.NetworkRestricted {
		dns := []any{object{"protocol": "UDP", "port": int64(53)}, object{"protocol": "TCP", "port": int64(53)}}
		public := []any{
			object{"ipBlock": object{"cidr": "0.0.0.0/0", "except": []any{"10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"}}},
			object{"ipBlock": object{"cidr": "::/0", "except": []any{"::1/128", "fc00::/7", "fe80::/10"}}},
		}
		spec["egress"] = []any{object{"ports": dns}, object{"to": public}}
	}
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
		"metadata": object{"name": name, "labels": texts(selected), "ownerReferences": []any{owner}},
		"spec":     spec,
	}}
}

// policy returns the network policy of a target's session; nil: no limit. The garbage collector
// removes that of an earlier StatefulSet with this name at any time, so the name has the UID.
func (t target) policy(m session.Mark, network string) *unstructured.Unstructured {
	set := t.set.Metadata
	owner := object{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": set.Name, "uid": set.UID}
	return policyOf(set.Name+"-"+set.UID, identity(m), owner, network)
}

// limitNetwork makes the network policy of a session as declared, if it declares one, and records
// it on the session's claim: later commands on the agent's files must not have more.
func limitNetwork(ctx context.Context, t target, l session.Launch) error {
	network := settings(l.Spec).Network
	policy := t.policy(l.Mark, network)
	if policy == nil {
		return nil
	}
	var noted struct{}
	note := object{"metadata": object{"annotations": object{annotationNetwork: network}}}
	if err := t.cluster.patch(ctx, claims, t.runtime.config.claimOf(l.Dir), note, &noted); err != nil {
		return err
	}
	return t.cluster.makePolicy(ctx, policy)
}

// makePolicy creates a network policy. It changes an existing one that differs.
func (c *cluster) makePolicy(ctx context.Context, policy *unstructured.Unstructured) error {
	var made struct{}
	err := c.create(ctx, networkPolicies, policy, &made)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var declared, is object // with the types of JSON
	if err := decode(policy.Object, &declared); err != nil {
		return err
	}
	if err := c.get(ctx, networkPolicies, policy.GetName(), &is); err != nil {
		return err
	}
	there := unstructured.Unstructured{Object: is}
	switch {
	case there.GetDeletionTimestamp() != nil:
		return fmt.Errorf("kubernetes: the NetworkPolicy %s of namespace %s is being removed", policy.GetName(), c.namespace)
	case contains(there.GetLabels(), policy.GetLabels()) && reflect.DeepEqual(is["spec"], declared["spec"]):
		return nil
	}
	return c.patch(ctx, networkPolicies, policy.GetName(), object{
		"metadata": object{"labels": declared["metadata"].(object)["labels"]},
		"spec":     replacing("spec", is["spec"], declared["spec"]),
	}, &made)
}
