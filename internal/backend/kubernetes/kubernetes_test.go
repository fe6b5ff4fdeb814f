//go:build kubernetes

package kubernetes

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/agentform/agentform/internal/backend"
	"github.com/agentform/agentform/internal/kubeclient"
	"github.com/agentform/agentform/internal/test/backendtest"
	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/internal/test/wait"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestBackend(t *testing.T) { suite.Run(t) }

var suite = backendtest.Suite{
	Start: func(t *testing.T) string {
		return strings.TrimPrefix(config(t).Host, "https://")
	},
	Open: func(address, project string, lease time.Duration) (backend.Backend, error) {
		c, _, err := kubeclient.Config(kubeclient.Settings{Kubeconfig: kubetest.Kubeconfig()})
		if err != nil {
			return nil, err
		}
		c.Host, c.ServerName = "https://"+address, "kubernetes"
		return New(Settings{Config: c, Namespace: "default", Suffix: fmt.Sprintf("%x", sha256.Sum224([]byte(project))), Lease: lease})
	},
	Expires: true, Conditional: true,
}

// config returns the settings of an administrator.
func config(t *testing.T) *rest.Config {
	t.Helper()
	c, _, err := kubeclient.Config(kubeclient.Settings{Kubeconfig: kubetest.Open(t).Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func open(t *testing.T, namespace string) *Backend {
	t.Helper()
	b, err := New(Settings{Config: config(t), Namespace: namespace, Suffix: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestParts writes states of several Secrets while others read them.
func TestParts(t *testing.T) {
	cluster := kubetest.Open(t)
	namespace := cluster.Namespace(t)
	writer, reader := open(t, namespace), open(t, namespace)
	i := backend.Info{ID: "1", Operation: "apply", Who: "ann"}
	if _, err := writer.Lock(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	secrets := func() int {
		return len(strings.Fields(cluster.Kubectl(t, "get", "secrets", "-n", namespace, "-o", "name")))
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read := make(chan error)
	go func() {
		for ctx.Err() == nil {
			text, _, err := reader.Read(t.Context())
			if err == nil && len(text) > 0 && text[0] != text[len(text)-1] {
				err = errors.New("a part of a state")
			}
			if err != nil && !errors.Is(err, backend.ErrNone) {
				read <- err
				return
			}
		}
		read <- nil
	}()
	var v backend.Version
	for _, c := range []struct{ size, secrets int }{{100, 1}, {1 << 20, 3}, {3 << 20, 5}, {2 << 20, 4}, {100, 1}, {1 << 20, 3}} {
		random := make([]byte, c.size) // as hexadecimal digits it is compressed to about its own size
		if _, err := rand.Read(random); err != nil {
			t.Fatal(err)
		}
		text := hex.EncodeToString(random)
		text += text[:1]
		var err error
		if v, err = writer.Write(t.Context(), []byte(text), v, i.ID); err != nil {
			t.Fatal(err)
		}
		got, at, err := open(t, namespace).Read(t.Context())
		if err != nil || string(got) != text || at != v {
			t.Errorf("%d bytes: read %d at %s, %v", len(text), len(got), at, err)
		}
		if n := secrets(); n != c.secrets {
			t.Errorf("%d bytes are in %d Secrets, want %d", len(text), n, c.secrets)
		}
	}
	// One who writes what it has not read leaves nothing.
	large := make([]byte, 2<<20)
	_, _ = rand.Read(large)
	if _, err := writer.Write(t.Context(), large, "1", i.ID); err == nil {
		t.Error("a write without the state's version")
	}
	if n := secrets(); n != 3 {
		t.Errorf("%d Secrets are left after a write that was refused", n)
	}
	stop()
	if err := <-read; err != nil {
		t.Error("a reader beside the writer:", err)
	}
}

// TestRights reads and writes as accounts that may not.
func TestRights(t *testing.T) {
	cluster := kubetest.Open(t)
	namespace := cluster.Namespace(t)
	as := func(account string) *Backend {
		t.Helper()
		c := config(t)
		c.Impersonate.UserName = "system:serviceaccount:" + namespace + ":" + account
		b, err := New(Settings{Config: c, Namespace: namespace, Suffix: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	i := backend.Info{ID: "1", Operation: "apply", Who: "ann"}
	_, err := as("ci").Lock(t.Context(), i)
	wantError(t, err, `cannot get resource "leases"`, "allow get, create, patch")

	const role = `{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "NAME"}, "rules": [
		{"apiGroups": [""], "resources": ["secrets"], "verbs": [SECRETS]},
		{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": [LEASES]}]}`
	allow := func(account, secrets, leases string) {
		t.Helper()
		cluster.Apply(t, strings.NewReplacer("NAME", account, "SECRETS", secrets, "LEASES", leases).Replace(role), "-n", namespace)
		cluster.Kubectl(t, "create", "rolebinding", account, "-n", namespace, "--role", account, "--serviceaccount", namespace+":"+account)
	}
	allow("ci", `"get", "create", "patch", "delete"`, `"get", "create", "update", "delete"`)
	allow("plan", `"get"`, `"get"`)
	b := as("ci")
	wait.For(t, "the role has taken effect", func() (any, bool) { _, err := b.Lock(t.Context(), i); return err, err == nil })
	v, err := b.Write(t.Context(), []byte("{}"), "", i.ID)
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 2<<20)
	_, _ = rand.Read(random)
	if v, err = b.Write(t.Context(), random, v, i.ID); err != nil {
		t.Fatal(err)
	}
	if _, err = b.Write(t.Context(), []byte("[]"), v, i.ID); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the role to plan has taken effect", func() (any, bool) { _, _, err := as("plan").Read(t.Context()); return err, err == nil })
	if err := b.Unlock(t.Context(), i); err != nil {
		t.Error(err)
	}
	_, err = as("plan").Lock(t.Context(), i)
	wantError(t, err, `cannot create resource "leases"`)
}

// TestStrays removes what a writer left that was killed long ago.
func TestStrays(t *testing.T) {
	cluster := kubetest.Open(t)
	namespace := cluster.Namespace(t)
	b := open(t, namespace)
	i := backend.Info{ID: "1"}
	if _, err := b.Lock(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	if _, err := b.writeParts(t.Context(), make([]byte, 2*partSize)); err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 2<<20)
	_, _ = rand.Read(random)
	v, err := b.Write(t.Context(), random, "", i.ID)
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		return len(strings.Fields(cluster.Kubectl(t, "get", "secrets", "-n", namespace, "-o", "name")))
	}
	if n := count(); n != 6 {
		t.Errorf("%d Secrets: the parts of a write that may be under way are gone", n)
	}
	b.strayAge = -time.Minute
	b.removeStrays(t.Context(), strings.Fields(cluster.Kubectl(t, "get", "secret", b.name, "-n", namespace, "-o", "go-template={{.data.parts | base64decode}}")))
	if n := count(); n != 4 {
		t.Errorf("%d Secrets are left, want 4", n)
	}
	if got, at, err := b.Read(t.Context()); err != nil || len(got) != len(random) || at != v {
		t.Error(len(got), at, err)
	}
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want: %s", err, part)
		}
	}
}
