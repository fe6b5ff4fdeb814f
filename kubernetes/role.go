package kubernetes

import (
	"fmt"
	"strings"
)

// A Rule allows verbs on one kind of resource in the sessions' namespace.
type Rule struct {
	Group, Resource string
	Verbs           []string
	For             string // its purpose
}

// Rules returns all rights that the runtime needs in a cluster.
func Rules() []Rule {
	return []Rule{
		{"apps", "statefulsets", []string{"create", "delete", "get", "list", "patch"}, "sessions"},
		{"", "pods", []string{"create", "delete", "get", "list", "watch"}, "what becomes of sessions; commands at volumes of sessions that do not run"},
		{"", "pods/exec", []string{"create", "get"}, "agents: start, stop, send, capture, attach; git in workspaces"},
		{"", "pods/log", []string{"get"}, "how agents ended, and branches"},
		{"", "persistentvolumeclaims", []string{"create", "delete", "get", "list", "patch"}, "volumes of workspaces"},
		{"", "events", []string{"list"}, "why a pod is not created, or was evicted"},
		{"networking.k8s.io", "networkpolicies", []string{"create", "get", "list", "patch"}, "network = \"none\" and \"restricted\""},
	}
}

// Role returns the Role with these rules and its RoleBinding to a service account, as YAML.
func Role(namespace, account string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: agentform\n  namespace: %s\nrules:\n", namespace)
	for _, r := range Rules() {
		fmt.Fprintf(&b, "  # %s\n  - apiGroups: [%q]\n    resources: [%q]\n    verbs: [%s]\n", r.For, r.Group, r.Resource, strings.Join(r.Verbs, ", "))
	}
	fmt.Fprintf(&b, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata:\n  name: agentform\n  namespace: %s\n"+
		"roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: agentform\nsubjects:\n  - kind: ServiceAccount\n    name: %s\n    namespace: %s\n", namespace, account, namespace)
	return b.String()
}
