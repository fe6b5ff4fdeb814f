//go:build kubernetes

package kubernetes_test

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
)

func recordOf(l session.Launch) session.Record {
	return session.Record{ID: l.Mark.ID, Address: l.Mark.Address, Spec: l.Spec, Tree: session.WorkspaceState{Path: l.Dir}}
}

// inWorkspace runs a script at the workspace of a session.
func (b *bed) inWorkspace(t *testing.T, l session.Launch, script string) string {
	t.Helper()
	var out strings.Builder
	if err := b.runtime.RunIn(t.Context(), recordOf(l), strings.NewReader("input"), &out, "sh", "-c", script, "sh", l.Dir); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// makePlace creates a place without an agent, for the launch that it returns.
func (b *bed) makePlace(t *testing.T) (session.Launch, session.Location) {
	t.Helper()
	l := b.launch("app-web-a1b2c3")
	at, err := b.runtime.MakePlace(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return l, at
}

// uids returns the pods of the namespace, by their uids.
func (b *bed) uids(t *testing.T) string {
	t.Helper()
	return b.cluster.Kubectl(t, "get", "pods", "-n", b.namespace, "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}\n{end}")
}

// A session has one pod, where its workspace is prepared before its agent starts.
func TestOnePod(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) { c.Network = session.NetworkNone }
	l := b.launch("app-web-a1b2c3")
	l.Spec.SecretRefs = map[string]session.SecretRef{"TOKEN": {Name: "tokens", Key: "token"}}
	b.cluster.Kubectl(t, "create", "secret", "generic", "tokens", "-n", b.namespace, "--from-literal=token=sesame")
	at, err := b.runtime.MakePlace(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if made := b.inWorkspace(t, l, `mkdir -p "$1" && cat >"$1/file" && cat /etc/hostname`); made != at.Name+"-0\n" {
		t.Errorf("prepared in %q, want the pod of %s", made, at.Name)
	}
	out, err := "", error(nil)
	for range 3 { // sometimes the cluster loses the output of a command
		if out, err = b.runtime.Run(t.Context(), l.Spec, l.Dir, []string{"sh", "-c", `echo "$PWD ${TOKEN-none} $OWN"`}, []string{"OWN=x y"}); err != nil || out != "" {
			break
		}
	}
	if err != nil || out != l.Dir+" none x y\n" {
		t.Errorf("the setup printed %q, %v; want the workspace, no secret, and a variable", out, err)
	}
	if policies := b.cluster.Kubectl(t, "get", "networkpolicy", "-n", b.namespace, "-o", "name"); policies != "" {
		t.Errorf("the workspace was prepared with %s", policies)
	}
	before := b.uids(t)
	p := b.create(t, l)
	if p != at {
		t.Errorf("created at %+v, want %+v", p, at)
	}
	if now := b.uids(t); now != before || strings.Count(now, "\n") != 1 {
		t.Errorf("the pods were\n%sand are\n%s", before, now)
	}
	if policies := b.cluster.Kubectl(t, "get", "networkpolicy", "-n", b.namespace, "-o", "name"); !strings.Contains(policies, at.Name) {
		t.Errorf("the network policies are %q", policies)
	}
	if live, _ := b.see(t, p); live.Liveness != session.Alive || live.Mark != l.Mark {
		t.Errorf("%s, mark %+v; want alive, %+v", live.Liveness, live.Mark, l.Mark)
	}
	if text, err := b.exec(p, "cat", l.Dir+"/file"); err != nil || text != "input" {
		t.Errorf("the workspace has %q, %v", text, err)
	}
}

// A volume without the program of the init, as a killed apply leaves it, has no screen.
func TestScreenWithoutProgram(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	_, at := b.makePlace(t)
	if _, err := b.exec(at, "rm", session.VolumeRoot+"/bin/"+install.Programs(shims).Name()); err != nil {
		t.Fatal(err)
	}
	if text, err := b.runtime.Capture(t.Context(), at, 0); !errors.Is(err, session.ErrGone) {
		t.Errorf("its screen is %q, %v; want that it is gone", text, err)
	}
}

// Another apply completes a session whose apply was killed while preparing the workspace.
func TestPlaceLeft(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l, at := b.makePlace(t)
	b.inWorkspace(t, l, `mkdir -p "$1"`)
	before := b.uids(t)
	b.runtime = b.open()
	t.Cleanup(b.runtime.Close)
	live, ok := b.see(t, at)
	if !ok || live.Mark != l.Mark || live.Liveness == session.Alive {
		t.Fatalf("there %v, %s, mark %+v; want no agent, and %+v", ok, live.Liveness, live.Mark, l.Mark)
	}
	other := b.launch(l.Name)
	if _, err := b.runtime.Create(t.Context(), other); !errors.Is(err, session.ErrExists) {
		t.Errorf("create another run: %v, want that the name is taken", err)
	}
	if _, err := b.runtime.MakePlace(t.Context(), other); !errors.Is(err, session.ErrExists) {
		t.Errorf("prepare another run: %v, want that the name is taken", err)
	}
	b.revive(t, at)
	if now := b.uids(t); now != before {
		t.Errorf("the pods were\n%sand are\n%s", before, now)
	}
}

// A place whose workspace could not be prepared is removed, with the content of the workspace kept.
func TestPlaceRemoved(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l, at := b.makePlace(t)
	b.inWorkspace(t, l, `mkdir -p "$1" && cat >"$1/file"`)
	if err := b.runtime.RunIn(t.Context(), recordOf(l), nil, io.Discard, "sh", "-c", "echo broken >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a command that fails: %v", err)
	}
	if err := b.runtime.Remove(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if left := b.cluster.Kubectl(t, "get", "statefulset,pod", "-n", b.namespace, "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
	if text := b.inWorkspace(t, l, `cat "$1/file" /etc/hostname`); !strings.HasPrefix(text, "input") || !strings.HasSuffix(text, "-once\n") {
		t.Errorf("a pod for commands finds %q", text)
	}
	b.create(t, l)
}

// A pod for commands on an agent's files has no more network than the agent had.
func TestCommandsHaveTheNetworkOfTheAgent(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) { c.Network = session.NetworkNone }
	l := b.launch("limited")
	p := b.create(t, l)
	if err := b.runtime.Remove(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if text := b.inWorkspace(t, l, "cat /etc/hostname"); !strings.HasSuffix(text, "-once\n") {
		t.Fatalf("the command ran in %q", text)
	}
	policies := b.cluster.Kubectl(t, "get", "networkpolicy", "-n", b.namespace, "-o", "jsonpath={range .items[*]}{.spec.podSelector.matchLabels} {.spec.policyTypes} {.spec.egress}{\"\\n\"}{end}")
	if !strings.Contains(policies, `"agentform.once":"1"`) || !strings.Contains(policies, `["Ingress","Egress"]`) {
		t.Errorf("the network policies are %q", policies)
	}
}

// The pod for commands of a killed agentform does not keep a session from its volume, and is
// removed with the volume.
func TestOneOffLeft(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l, at := b.makePlace(t)
	b.inWorkspace(t, l, `mkdir -p "$1"`)
	left := func() {
		t.Helper()
		if err := b.runtime.Remove(t.Context(), at); err != nil {
			t.Fatal(err)
		}
		b.inWorkspace(t, l, "true")
		b.runtime = b.open()
		t.Cleanup(b.runtime.Close)
	}
	left()
	at = b.create(t, l)
	left()
	if err := b.runtime.RemoveWorkspace(t.Context(), l.Dir); err != nil {
		t.Error(err)
	}
	if names := b.cluster.Kubectl(t, "get", "pod,pvc", "-n", b.namespace, "-o", "name"); names != "" {
		t.Errorf("left: %s", names)
	}
}

// Two agentforms run commands at one workspace at the same time, also after its pod was removed.
func TestOneOffOfTwo(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l, at := b.makePlace(t)
	if err := b.runtime.Remove(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	both := []*kubernetes.Runtime{b.runtime, b.open()}
	t.Cleanup(both[1].Close)
	for range 2 {
		var wg sync.WaitGroup
		for _, r := range both {
			wg.Go(func() {
				for range 5 {
					var out strings.Builder
					if err := r.RunIn(t.Context(), recordOf(l), nil, &out, "cat", "/etc/hostname"); err != nil || !strings.HasSuffix(out.String(), "-once\n") {
						t.Errorf("%q, %v", out.String(), err)
					}
				}
			})
		}
		wg.Wait()
		b.cluster.Kubectl(t, "delete", "pod", "--all", "-n", b.namespace, "--now")
	}
}

// A place that the cluster cannot make leaves nothing.
func TestPlaceRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(c *session.KubernetesConfig) {
		c.NodeSelector, c.ScheduleTimeout = map[string]string{"pool": "none"}, 0
	}
	if _, err := b.runtime.MakePlace(t.Context(), b.launch("app-web-a1b2c3")); err == nil || !strings.Contains(err.Error(), "no place") {
		t.Errorf("%v, want that there is no place", err)
	}
	if left := b.cluster.Kubectl(t, "get", "statefulset,pod,pvc", "-n", b.namespace, "-o", "name"); left != "" {
		t.Errorf("left: %s", left)
	}
}
