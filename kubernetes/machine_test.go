//go:build kubernetes

package kubernetes_test

import (
	"bytes"
	"context"
	"debug/elf"
	"runtime"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
)

// machineOf returns the machine of the program on the volume of a session.
func (b *bed) machineOf(t *testing.T, l session.Launch) elf.Machine {
	t.Helper()
	program := b.inWorkspace(t, l, "cat "+session.VolumeRoot+"/bin/"+install.Programs(shims).Name())
	f, err := elf.NewFile(bytes.NewReader([]byte(program)))
	if err != nil {
		t.Fatalf("%d bytes: %v", len(program), err)
	}
	return f.Machine
}

// A pod on a node that says that it is another machine gets the program for that. It cannot run
// here, and when the volume comes to a node of this machine, it is replaced.
func TestMachine(t *testing.T) {
	t.Parallel()
	other, uname, own := elf.EM_AARCH64, "aarch64", elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		other, uname, own = elf.EM_X86_64, "x86_64", elf.EM_AARCH64
	}
	b := newBed(t)
	l := b.launch("app-web-a1b2c3")
	b.inWorkspace(t, l, "true") // the volume exists, and outlives the start that fails
	b.cluster.Apply(t, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "machine"}, "data": {"uname": "#!/bin/sh\necho `+uname+`\n"}}`, "-n", b.namespace)
	l.Spec.Runtime.Kubernetes.Pod = `{"volumes": [{"name": "machine", "configMap": {"name": "machine", "defaultMode": 365}}], "containers": [{"name": "session",
		"env": [{"name": "PATH", "value": "/machine:/usr/local/bin:/usr/bin:/bin"}], "volumeMounts": [{"name": "machine", "mountPath": "/machine"}]}]}`
	ctx, stop := context.WithCancel(t.Context())
	created := make(chan error, 1)
	go func() {
		_, err := b.runtime.Create(ctx, l)
		created <- err
	}()
	wait.For(t, "the pod tries to execute the program", func() (any, bool) {
		ends, err := b.cluster.TryKubectl("", "get", "pod", l.Name+"-0", "-n", b.namespace, "-o", "jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}")
		return ends, err == nil && ends != ""
	})
	stop()
	if err := <-created; err == nil {
		t.Error("a program for another machine was started")
	}
	if got := b.machineOf(t, l); got != other {
		t.Errorf("on %s the volume has a program for %s", uname, got)
	}
	l.Spec.Runtime.Kubernetes.Pod = ""
	p := b.create(t, l)
	if got := b.machineOf(t, l); got != own {
		t.Errorf("here the volume has a program for %s", got)
	}
	b.send(t, p, "say here")
}

// A session that was created where only one program was there stays on nodes for that, whoever
// restarts it.
func TestOneShim(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.runtime = kubernetes.New(kubernetes.Config{Kubeconfig: b.cluster.Kubeconfig(), Namespace: b.namespace, DataDir: dataDir, Lineage: lineage,
		Shims: map[string]string{runtime.GOARCH: shims[runtime.GOARCH]}})
	p := b.create(t, b.launch("app-web-a1b2c3"))
	b.kill(t, p)
	wait.For(t, "its agent is dead", func() (any, bool) {
		live, _ := b.see(t, p)
		return live, live.Liveness == session.Dead
	})
	b.runtime.Close()
	b.runtime = b.open()
	if _, err := b.runtime.Restart(t.Context(), p, b.launch(p.Name)); err != nil {
		t.Fatal(err)
	}
	for what, path := range map[string]string{"selector": `{.spec.template.spec.nodeSelector.kubernetes\.io/arch}`, "record": `{.metadata.annotations.agentform\.record}`} {
		if text := b.cluster.Kubectl(t, "get", "statefulset", p.Name, "-n", b.namespace, "-o", "jsonpath="+path); !strings.Contains(text, runtime.GOARCH) {
			t.Errorf("its %s is %s", what, text)
		}
	}
}
