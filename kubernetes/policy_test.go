package kubernetes

import (
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/agentform/agentform/session"
)

// limited returns a session in a cluster whose network is restricted, and its claim.
func limited(t *testing.T) (*api, target, session.Launch) {
	t.Helper()
	a, c := newAPI(t)
	m := asMadeWith(t, func(s *session.Spec) { s.Runtime.Kubernetes.Network = session.NetworkRestricted }, func(_ *record, o object) { a.put("statefulsets/shop-a", o) })
	l := session.Launch{Mark: m.record.Mark, Name: m.set.Metadata.Name, Dir: m.record.Spec.Workspace.Path, Spec: *m.record.Spec}
	claim := m.config.claim(l.Mark, l.Spec, l.Dir, "")
	a.put("persistentvolumeclaims/"+claim.GetName(), claim.Object)
	return a, target{runtime: c.runtime(m.config), cluster: c, set: m.set, record: m.record}, l
}

// TestPolicyOfReplaced checks that a replaced session gets a network policy of its own. The garbage
// collector removes that of the earlier StatefulSet of this name later.
func TestPolicyOfReplaced(t *testing.T) {
	a, target, l := limited(t)
	for _, uid := range []string{"first", "second", "second"} {
		target.set.Metadata.UID = uid
		if err := limitNetwork(t.Context(), &target, l); err != nil {
			t.Fatal(err)
		}
	}
	if names := a.names("networkpolicies"); !slices.Equal(names, []string{"shop-a-first", "shop-a-second"}) {
		t.Errorf("the policies are %v", names)
	}
}

// TestPolicyAllows evaluates the rules of policies for destinations.
func TestPolicyAllows(t *testing.T) {
	everywhere := []string{"8.8.8.8:443", "2001:db8::1:443"}
	dns := []string{"kube-system/kube-dns:53", "169.254.20.10:53"}
	for limit, want := range map[string][]string{
		"none":       nil,
		"restricted": append(everywhere, dns...),
		"restricted 10.1.0.0/16 10.2.0.7/32:8443 namespace/proxies:3128 fd00::/8": append(append([]string{"10.1.2.3:22", "10.2.0.7:8443", "proxies/squid:3128", "fd00::7:5432"}, everywhere...), dns...),
		"none namespace/proxies": {"proxies/squid:22", "proxies/squid:3128"},
	} {
		policy := policyOf("p", map[string]string{"a": "b"}, object{}, limit)
		for _, to := range []string{
			"8.8.8.8:443", "2001:db8::1:443", "kube-system/kube-dns:53", "kube-system/other:53", "kube-system/kube-dns:80", "169.254.20.10:53", "169.254.20.10:80",
			"169.254.169.254:80", "10.1.2.3:22", "10.9.2.3:22", "10.9.0.1:53", "10.2.0.7:8443", "10.2.0.7:22", "proxies/squid:3128", "proxies/squid:22", "shop/api:80", "fd00::7:5432",
		} {
			if got := reaches(t, policy, to); got != slices.Contains(want, to) {
				t.Errorf("%s: %s is allowed: %v", limit, to, got)
			}
		}
	}
	if policyOf("p", nil, object{}, "open") != nil {
		t.Error("open has a policy")
	}
}

// reaches reports whether a policy lets a pod send to a port of an address, or of the pod NAMESPACE/APP.
func reaches(t *testing.T, policy *unstructured.Unstructured, to string) bool {
	t.Helper()
	var p networkingv1.NetworkPolicy
	if err := decode(policy.Object, &p); err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndexByte(to, ':')
	port, err := strconv.Atoi(to[at+1:])
	if err != nil {
		t.Fatal(err)
	}
	namespace, app, isPod := strings.Cut(to[:at], "/")
	within := func(cidr string) bool {
		return !isPod && netip.MustParsePrefix(cidr).Contains(netip.MustParseAddr(to[:at]))
	}
	selects := func(s *metav1.LabelSelector, name, value string) bool {
		return s == nil || len(s.MatchLabels) == 1 && s.MatchLabels[name] == value
	}
	return slices.ContainsFunc(p.Spec.Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
		ported := len(rule.Ports) == 0 || slices.ContainsFunc(rule.Ports, func(x networkingv1.NetworkPolicyPort) bool {
			return *x.Protocol == "TCP" && x.Port.IntValue() == port
		})
		return ported && slices.ContainsFunc(rule.To, func(x networkingv1.NetworkPolicyPeer) bool {
			if b := x.IPBlock; b != nil {
				return within(b.CIDR) && !slices.ContainsFunc(b.Except, within)
			}
			return isPod && x.NamespaceSelector != nil && selects(x.NamespaceSelector, namespaceLabel, namespace) && selects(x.PodSelector, "k8s-app", app)
		})
	})
}

// TestPolicyThere checks what becomes of a policy that exists already when an agent starts.
func TestPolicyThere(t *testing.T) {
	for name, test := range map[string]struct {
		change  object
		patches int
		err     string
	}{
		"the same":             {object{}, 0, ""},
		"another label":        {object{"metadata": object{"labels": object{"more": "x"}}}, 0, ""},
		"a label":              {object{"metadata": object{"labels": object{labelProject: nil}}}, 1, ""},
		"other pods":           {object{"spec": object{"podSelector": object{"matchLabels": object{"app": "x"}}}}, 1, ""},
		"from anywhere":        {object{"spec": object{"ingress": []any{object{}}}}, 1, ""},
		"to anywhere":          {object{"spec": object{"egress": []any{object{}}}}, 1, ""},
		"one that is removed":  {object{"metadata": object{"deletionTimestamp": "2026-11-29T01:00:00Z"}}, 0, "is being removed"},
		"no direction is left": {object{"spec": object{"policyTypes": []any{"Ingress"}}}, 1, ""},
	} {
		a, target, l := limited(t)
		path := "networkpolicies/shop-a-" + target.set.Metadata.UID
		if err := limitNetwork(t.Context(), &target, l); err != nil {
			t.Fatal(err)
		}
		want := a.objects[path]["spec"]
		a.change(path, test.change)
		err := limitNetwork(t.Context(), &target, l)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want %s", name, err, test.err)
			}
			continue
		}
		labels := a.objects[path]["metadata"].(object)["labels"].(object)
		if err != nil || !reflect.DeepEqual(a.objects[path]["spec"], want) || labels[labelProject] != "lineage" || a.calls["PATCH "+path] != test.patches {
			t.Errorf("%s: %v, %d patches, %v", name, err, a.calls["PATCH "+path], a.objects[path])
		}
	}
}

// TestPolicyEdited checks that what someone changed of a session's policy is found, and put back
// while the agent runs.
func TestPolicyEdited(t *testing.T) {
	nobody := object{"spec": object{"podSelector": object{"matchLabels": object{"app": "x"}}}}
	for name, test := range map[string]struct {
		change func(a *api, path string)
		want   []string
	}{
		"nothing":       {func(*api, string) {}, nil},
		"another label": {func(a *api, path string) { a.change(path, object{"metadata": object{"labels": object{"more": "x"}}}) }, nil},
		"removed":       {func(a *api, path string) { delete(a.objects, path) }, []string{"networkpolicy"}},
		"other pods":    {func(a *api, path string) { a.change(path, nobody) }, []string{"networkpolicy.spec.podSelector.matchLabels.app"}},
		"from anywhere": {func(a *api, path string) { a.change(path, object{"spec": object{"ingress": []any{object{}}}}) }, []string{"networkpolicy.spec.ingress"}},
		"to anywhere":   {func(a *api, path string) { a.change(path, object{"spec": object{"egress": []any{object{}}}}) }, []string{"networkpolicy.spec.egress"}},
		"a label":       {func(a *api, path string) { a.change(path, object{"metadata": object{"labels": object{labelID: nil}}}) }, []string{"networkpolicy.metadata.labels.agentform.id"}},
		"the project": {func(a *api, path string) {
			a.change(path, object{"metadata": object{"labels": object{labelProject: nil}}})
		}, []string{"networkpolicy"}},
		"its owner": {func(a *api, path string) { a.change(path, object{"metadata": object{"ownerReferences": nil}}) }, []string{"networkpolicy.metadata.ownerReferences"}},
		"there and back": {func(a *api, path string) {
			a.change(path, nobody)
			a.change(path, object{"spec": object{"podSelector": object{"matchLabels": object{"app": nil}}}})
		}, nil},
		"made by someone": {func(a *api, path string) { a.put(path, merged(a.objects[path], nobody).(object)) }, []string{"networkpolicy.spec.podSelector.matchLabels.app"}},
	} {
		a, target, l := limited(t)
		r := target.runtime
		edits := func() (fields []string) {
			t.Helper()
			lives, err := r.Observe(t.Context(), false)
			if err != nil || len(lives) != 1 {
				t.Fatal(lives, err)
			}
			for _, e := range lives[0].Edited {
				if e.Restarts {
					t.Errorf("%s: %s restarts the session", name, e.Field)
				}
				fields = append(fields, e.Field)
			}
			return fields
		}
		if fields := edits(); fields != nil || a.calls["GET networkpolicies"] > 0 {
			t.Errorf("%s: before there is a policy: %v, %d lists", name, fields, a.calls["GET networkpolicies"])
		}
		if err := limitNetwork(t.Context(), &target, l); err != nil {
			t.Fatal(err)
		}
		path := "networkpolicies/shop-a-" + target.set.Metadata.UID
		if fields := edits(); fields != nil || a.calls["GET networkpolicies"] != 1 || a.calls["GET "+path] > 0 {
			t.Errorf("%s: a policy as made: %v, and requests %v", name, fields, a.calls)
		}
		test.change(a, path)
		if fields := edits(); !slices.Equal(fields, test.want) {
			t.Errorf("%s: %v, want %v", name, fields, test.want)
		}
		if err := r.Revert(t.Context(), session.Location{Name: l.Name}, l.Spec); err != nil {
			t.Fatal(err)
		}
		read := a.calls["GET "+path]
		if fields := edits(); fields != nil || a.calls["GET "+path] != read {
			t.Errorf("%s: after it was put back: %v, read again: %t", name, fields, a.calls["GET "+path] != read)
		}
	}
}
