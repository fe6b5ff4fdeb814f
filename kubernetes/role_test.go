//go:build kubernetes

package kubernetes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
)

// allowed is a service account with the rights of a Role.
type allowed struct {
	bed     *bed
	account string
	runtime *kubernetes.Runtime
	lacks   [2]string // the verb and the resource that it lacks
}

// newAllowed returns an account without rights.
func newAllowed(t *testing.T) *allowed {
	t.Helper()
	b := newBed(t)
	a := &allowed{bed: b, account: "system:serviceaccount:" + b.namespace + ":agentform", lacks: [2]string{"create", "pods/exec"}}
	config, err := clientcmd.LoadFromFile(b.cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.Impersonate = a.account
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	a.runtime = kubernetes.New(kubernetes.Config{Kubeconfig: file, Namespace: b.namespace, DataDir: dataDir, Lineage: lineage, Shims: shims, Exec: []string{"agentform", "kubernetes-exec"}})
	t.Cleanup(a.runtime.Close)
	b.cluster.Apply(t, kubernetes.Role(b.namespace, "agentform"))
	return a
}

// without gives the account the Role without one verb; "": the whole Role.
func (a *allowed) without(t *testing.T, resource, verb string) {
	t.Helper()
	var rules []any
	for _, r := range kubernetes.Rules() {
		verbs := slices.DeleteFunc(slices.Clone(r.Verbs), func(v string) bool { return r.Resource == resource && v == verb })
		if len(verbs) > 0 {
			rules = append(rules, map[string]any{"apiGroups": []string{r.Group}, "resources": []string{r.Resource}, "verbs": verbs})
		}
	}
	role, err := json.Marshal(map[string]any{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
		"metadata": map[string]any{"name": "agentform", "namespace": a.bed.namespace}, "rules": rules})
	if err != nil {
		t.Fatal(err)
	}
	a.bed.cluster.Apply(t, string(role))
	// The API server applies the verbs of a Role at once.
	want, lacked := "no", a.lacks
	a.lacks = [2]string{verb, resource}
	if resource == "" {
		verb, resource, want = lacked[0], lacked[1], "yes"
	}
	wait.For(t, fmt.Sprintf("whether it may %s %s: %s", verb, resource, want), func() (any, bool) {
		may := a.may(verb, resource)
		return may, may == want
	})
}

// may returns whether the account has a right: yes or no.
func (a *allowed) may(verb, resource string) string {
	name, sub, _ := strings.Cut(resource, "/")
	for _, r := range kubernetes.Rules() {
		if r.Resource == resource && r.Group != "" {
			name += "." + r.Group
		}
	}
	args := []string{"auth", "can-i", verb, name, "-n", a.bed.namespace, "--as", a.account}
	if sub != "" {
		args = append(args, "--subresource", sub)
	}
	out, _ := a.bed.cluster.TryKubectl("", args...) // it fails for a no
	answer, _, _ := strings.Cut(strings.TrimSpace(out), " ")
	return strings.TrimSpace(answer)
}

// With the printed Role, everything works. Without one of its verbs that cannot be replaced, the error
// names the verb and the resource.
func TestRole(t *testing.T) {
	t.Parallel()
	a := newAllowed(t)
	b, ctx := a.bed, t.Context()
	repo := repository(t)
	n := 0
	fresh := func() session.Launch {
		n++
		return b.launch(fmt.Sprintf("app-web-a1b2c%d", n))
	}
	volume := func(l session.Launch) git.Volume {
		l.Spec.Branch, l.Spec.Workspace = "agents/web", session.Workspace{Mode: session.Clone, Repo: repo, Path: l.Dir}
		return git.VolumeOf(a.runtime, session.Record{ID: l.Mark.ID, Address: l.Mark.Address, Spec: l.Spec,
			Tree: session.WorkspaceState{Path: l.Dir, Mode: session.Clone, Repo: repo, Branch: "agents/web"}})
	}
	closed := func(c *session.KubernetesConfig) { c.Network = session.NetworkNone }

	a.without(t, "", "")
	b.with = closed
	l := fresh()
	if _, err := volume(l).AddClone(ctx, repo, "agents/web", ""); err != nil {
		t.Fatal(err)
	}
	p, err := a.runtime.Create(ctx, l)
	if err != nil {
		t.Fatal(err)
	}
	b.with = nil
	b.listening(t, p)
	does := map[string]func() error{
		"create": func() error {
			b.with = closed
			defer func() { b.with = nil }()
			_, err := a.runtime.Create(ctx, fresh())
			return err
		},
		"larger": func() error {
			b.with = func(c *session.KubernetesConfig) { c.Storage.Size = 2 << 20 }
			defer func() { b.with = nil }()
			again := b.launch("other")
			again.Dir = l.Dir // the claim of the workspace, which is smaller
			_, err := a.runtime.Create(ctx, again)
			return err
		},
		"observe": func() error {
			_, err := a.runtime.Observe(ctx, false)
			return err
		},
		"put back": func() error {
			b.cluster.Kubectl(t, "label", "networkpolicy", "--all", "-n", b.namespace, "agentform.id-")
			return a.runtime.Revert(ctx, p, l.Spec)
		},
		"send":       func() error { return a.runtime.Send(ctx, p, session.Input{Text: "say hello"}) },
		"pause":      func() error { return a.runtime.Pause(ctx, p, l.Mark.Run, session.Detach) },
		"resume":     func() error { return a.runtime.Resume(ctx, p, l.Mark.Run) },
		"stop":       func() error { return a.runtime.Stop(ctx, p, l.Mark.Run, l.Stop) },
		"remove":     func() error { return a.runtime.Remove(ctx, p) },
		"workspaces": func() error { _, err := a.runtime.Workspaces(ctx); return err },
		"clone": func() error {
			_, err := volume(fresh()).AddClone(ctx, repo, "agents/web", "")
			return err
		},
		"remove workspace": func() error { return a.runtime.RemoveWorkspace(ctx, l.Dir) },
		"watch": func() error {
			watching, stop := context.WithCancel(ctx)
			defer stop()
			return a.runtime.Events(watching, func() {})
		},
	}
	for _, test := range []struct{ resource, verb, what string }{
		{"statefulsets", "create", "create"}, {"statefulsets", "list", "observe"}, {"statefulsets", "get", "send"},
		{"statefulsets", "patch", "pause"}, {"statefulsets", "delete", "remove"},
		{"pods", "list", "observe"}, {"pods", "get", "stop"}, {"pods", "create", "clone"}, {"pods", "watch", "watch"},
		{"pods", "delete", "remove workspace"}, {"pods/exec", "create", "send"},
		{"persistentvolumeclaims", "create", "create"}, {"persistentvolumeclaims", "get", "create"},
		{"persistentvolumeclaims", "list", "workspaces"}, {"persistentvolumeclaims", "patch", "larger"},
		{"persistentvolumeclaims", "delete", "remove workspace"},
		{"networkpolicies", "create", "create"}, {"networkpolicies", "list", "observe"},
		{"networkpolicies", "get", "put back"}, {"networkpolicies", "patch", "put back"},
	} {
		a.without(t, test.resource, test.verb)
		err := does[test.what]()
		resource, sub, _ := strings.Cut(test.resource, "/")
		if sub != "" {
			resource += "/" + sub
		}
		if want := fmt.Sprintf("cannot %s resource %q", test.verb, resource); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "agentform runtime role") {
			t.Errorf("%s without %s of %s: %v; want %q", test.what, test.verb, test.resource, err, want)
		}
	}
	// Without these there are only fewer reasons, or another way.
	for _, test := range []struct{ resource, verb, what string }{
		{"pods/log", "get", "observe"}, {"events", "list", "observe"}, {"pods/exec", "get", "resume"},
	} {
		a.without(t, test.resource, test.verb)
		if err := does[test.what](); err != nil {
			t.Errorf("%s without %s of %s: %v", test.what, test.verb, test.resource, err)
		}
	}
	a.without(t, "", "")
	for _, what := range []string{"observe", "resume", "send", "pause", "resume", "put back", "workspaces", "stop", "remove", "remove workspace"} {
		if err := does[what](); err != nil {
			t.Errorf("%s with all of the Role: %v", what, err)
		}
	}
}
