//go:build kubernetes

package kubernetes_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
)

// through returns the runtime of a bed that connects by a proxy.
func (b *bed) through(t *testing.T) (*kubernetes.Runtime, *kubetest.Proxy) {
	t.Helper()
	p := b.cluster.Proxy(t)
	r := kubernetes.New(kubernetes.Config{Kubeconfig: p.Kubeconfig, Namespace: b.namespace, DataDir: dataDir, Lineage: lineage, Shims: shims})
	t.Cleanup(r.Close)
	return r, p
}

// The client retries a busy server when that asks for it, and for at most 10 seconds.
func TestThrottled(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r, proxy := b.through(t)
	proxy.Expect(kubetest.Fault{Call: "GET pods", Nth: 1, Kind: kubetest.Throttled})
	began := time.Now()
	if _, err := r.Observe(t.Context(), false); err != nil || proxy.Met() != 1 || time.Since(began) < time.Second {
		t.Errorf("throttled once: %v after %s, met %d times", err, time.Since(began), proxy.Met())
	}
	proxy.Expect(kubetest.Fault{Call: "GET pods", Kind: kubetest.Throttled})
	began = time.Now()
	_, err := r.Observe(t.Context(), false)
	took := time.Since(began)
	if err == nil || !strings.Contains(err.Error(), kubetest.Injected) && !strings.Contains(err.Error(), "too many requests") {
		t.Errorf("throttled without end: %v after %s", err, took)
	}
	if n := proxy.Met(); n < 3 || n > 12 {
		t.Errorf("it was asked %d times in %s; want once a second", n, took)
	}
}

// A dropped watch is an error, and the next one reports changes.
func TestWatchDropped(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	r, proxy := b.through(t)
	p := b.create(t, b.launch("app-web-a1b2c3"))
	ended := make(chan error, 1)
	var happened atomic.Int32
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	watch := func() { ended <- r.Events(ctx, func() { happened.Add(1) }) }
	go watch()
	wait.For(t, "it watches, and tells what there is", func() (any, bool) { return "nothing", happened.Load() > 0 })
	proxy.Cut()
	if err := wait.Receive(t, "it notices that its watch was dropped", ended); err == nil || !strings.Contains(err.Error(), "watch") {
		t.Errorf("%v, want that the watch ended", err)
	}
	happened.Store(0)
	go watch()
	wait.For(t, "it watches again", func() (any, bool) { return "nothing", happened.Load() > 0 })
	before := happened.Load()
	b.kill(t, p)
	wait.For(t, "it tells that the agent is dead", func() (any, bool) { return "nothing", happened.Load() > before })
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The clock of the machine that started a session has no effect: the pod shows whether an agent is
// alive, and no second one is started.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch("app-web-a1b2c3")
	p := b.create(t, l)
	for _, skew := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		begun := time.Now().Add(skew).UTC().Format(time.RFC3339Nano)
		record := b.cluster.Kubectl(t, "get", "statefulset", p.Name, "-n", b.namespace, "-o", `jsonpath={.metadata.annotations.agentform\.record}`)
		was, rest, _ := strings.Cut(record[strings.Index(record, `"begun":"`)+len(`"begun":"`):], `"`)
		if rest == "" {
			t.Fatalf("no begin in %s", record)
		}
		b.cluster.Kubectl(t, "annotate", "--overwrite", "statefulset", p.Name, "-n", b.namespace, "agentform.record="+strings.Replace(record, was, begun, 1))
		if live, _ := b.see(t, p); live.Liveness != session.Alive {
			t.Errorf("begun %s from now: %s, %s", skew, live.Liveness, live.UnknownReason)
		}
		if _, err := b.runtime.Restart(t.Context(), p, b.launch(p.Name)); err == nil || !strings.Contains(err.Error(), "is running") {
			t.Errorf("begun %s from now: restart beside a live agent: %v", skew, err)
		}
	}
	b.send(t, p, "say here")
}

// A watch starts while nothing else happens to pods: the API server's cache of pods may lack the
// newest version.
func TestWatchStarts(t *testing.T) {
	cluster := kubetest.Open(t)
	namespace := cluster.Namespace(t)
	cluster.Apply(t, `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"agentform.project": "watched"}},
		"spec": {"nodeName": "none", "terminationGracePeriodSeconds": 0, "containers": [{"name": "c", "image": "none"}]}}`, "-n", namespace)
	cluster.Apply(t, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "newest"}}`, "-n", namespace)
	r := kubernetes.New(kubernetes.Config{Kubeconfig: cluster.Kubeconfig(), Namespace: namespace, DataDir: dataDir, Lineage: "watched", Shims: shims})
	defer r.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	happened, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() { ended <- r.Events(ctx, func() { happened <- struct{}{} }) }()
	select {
	case <-happened:
	case err := <-ended:
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
