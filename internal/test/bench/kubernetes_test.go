//go:build real && kubernetes

package bench

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/agentform/agentform/internal/kubeclient"
	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
)

const podImage = "localhost/agentform-bench:1"

// pods is a project of sessions in pods, in a namespace of its own.
type pods struct {
	project
	cluster   kubetest.Cluster
	namespace string
	server    string // of the API
	tls       *tls.Config
	http      *http.Client
}

// inPods is agentform's work in a cluster. The floors are the API server's answer to one
// list, and `kubectl apply` and `kubectl wait` of pods that only sleep.
func inPods(t *testing.T, m *measurement) {
	p := newPods(t, m.bin)
	p.noPlan(t, m)
	p.noticed(t, m)
	p.observe(t, m)
	p.apply(t, m)
	p.status(t, m)
}

func newPods(t *testing.T, bin string) *pods {
	t.Helper()
	c := kubetest.Start(t) // only for these rows: an idle cluster takes half of a processor
	layer, err := dockertest.Layer(append(dockertest.Programs(), "date")...)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := kubetest.Archive(podImage, layer, map[string]any{"Env": dockertest.Variables})
	if err != nil {
		t.Fatal(err)
	}
	c.Import(t, archive)
	config, _, err := kubeclient.Config(kubeclient.Settings{Kubeconfig: c.Kubeconfig()})
	if err != nil {
		t.Fatal(err)
	}
	secure, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	p := &pods{project: newRepository(t, bin), cluster: c, namespace: c.Namespace(t), server: config.Host, tls: secure,
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: secure, ForceAttemptHTTP2: true}}}
	t.Cleanup(p.http.CloseIdleConnections)
	p.env = append(p.env, "KUBECONFIG="+c.Kubeconfig())
	p.destroyed(t)
	return p
}

// want declares so many sessions.
func (p *pods) want(t *testing.T, n int) {
	t.Helper()
	p.manifest(t, n, fmt.Sprintf(`
runtime "kubernetes" "team" {
  namespace = %q
  image     = %q
  storage {
    class = "local"
    size  = "1GiB"
  }
}
session "s" {
  count   = %d
  agent   = agent.idle
  runtime = runtime.kubernetes.team
  restart {
    policy = "never" # a dead agent is held as soon as it is noticed
  }
  workspace {
    mode       = "plain"
    on_destroy = "remove_clean"
  }
}
`, p.namespace, podImage, n))
}

// list is how long it takes to connect to the API server and list the pods of a namespace.
func (p *pods) list(t *testing.T, namespace string) time.Duration {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: p.tls.Clone(), ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	began := time.Now()
	a, err := client.Get(p.server + "/api/v1/namespaces/" + namespace + "/pods")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("list the pods: %s %v", a.Status, err)
	}
	return time.Since(began)
}

// noPlan is `agentform plan` with nothing to do.
func (p *pods) noPlan(t *testing.T, m *measurement) {
	const n = 10
	p.want(t, n)
	p.run(t, "agentform", "apply", "--auto-approve")
	// Until the kubelet has asked for it, an agent is asked for by a command in its pod.
	p.cluster.Kubectl(t, "wait", "--for=condition=Ready", "pods", "--all", "-n", p.namespace, "--timeout=1m")
	took := m.turns(7,
		func() time.Duration { return p.time(t, "agentform", "plan", "--detailed-exitcode") },
		func() time.Duration { return p.list(t, p.namespace) },
		func() time.Duration { return p.time(t, "agentform", "version") },
		func() time.Duration {
			began := time.Now()
			p.cluster.Kubectl(t, "get", "pods", "-n", p.namespace)
			return time.Since(began)
		})
	r := Row{
		Work:  fmt.Sprintf("no-op plan, %d live sessions in pods", n),
		Took:  Time(took[0]),
		Floor: Beside{"a list of the pods, on a new connection", Time(took[1])},
		Today: Beside{"kubectl get pods", Time(took[3])},
		Goals: []Goal{{Says: "≤ 1 of 3 × floor and the start-up", Got: ratio(took[0], 3*took[1]+took[2]), Bound: 1}},
		Shown: true,
	}
	if m.full && len(r.Short()) > 0 {
		r.Missed = p.profile(t, 50, "plan")
	}
	m.add(r)
}

// noticed is how soon the hub notices that an agent in a pod was killed.
func (p *pods) noticed(t *testing.T, m *measurement) {
	hub := p.command("agentform", "serve", "--log-file", filepath.Join(p.dir, "hub.log"))
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = hub.Process.Signal(syscall.SIGTERM)
		_ = hub.Wait()
	}()
	p.logged(t, "msg=supervising", time.Minute)
	time.Sleep(2 * time.Second) // it has looked, and watches
	var pod string
	if names := strings.Fields(p.cluster.Kubectl(t, "get", "pods", "-n", p.namespace, "-o", "jsonpath={.items[*].metadata.name}")); len(names) > 0 {
		pod = names[0]
	} else {
		t.Fatal("there is no pod")
	}
	// The command says when it kills, because kubectl takes its time.
	out := p.cluster.Kubectl(t, "exec", "-n", p.namespace, pod, "--", "sh", "-c",
		`for d in /proc/[0-9]*; do read name <$d/comm; [ "$name" != sleep ] || { date +%s%N; kill -9 ${d#/proc/}; }; done`)
	var killed int64
	if _, err := fmt.Sscan(out, &killed); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	p.logged(t, "msg=held", time.Minute)
	soon := time.Since(time.Unix(0, killed))
	m.add(Row{Work: "the hub, 10 idle sessions in pods: a killed agent is noticed", Took: Time(soon), Shown: true,
		Goals:  []Goal{{Says: "≤ 2 s", Got: soon.Seconds(), Bound: 2}},
		Missed: "The kubelet asks the init once a second, and writes the pod's status after that."})
}

// apply is `agentform apply` beside `kubectl apply` and `kubectl wait` of the same objects,
// whose pods sleep.
func (p *pods) apply(t *testing.T, m *measurement) {
	const n = 20
	p.run(t, "agentform", "destroy", "--auto-approve")
	p.gone(t, p.namespace)
	p.want(t, n)
	bare := p.cluster.Namespace(t)
	var manifest string
	turns := 1
	if m.full {
		turns = 3
	}
	took := m.turns(turns,
		func() time.Duration {
			defer func() {
				if manifest == "" {
					manifest = p.sleeping(t, bare)
				}
				p.run(t, "agentform", "destroy", "--auto-approve")
				p.gone(t, p.namespace)
			}()
			return p.time(t, "agentform", "apply", "--auto-approve")
		},
		func() time.Duration {
			began := time.Now()
			p.cluster.Apply(t, manifest, "-n", bare)
			for { // kubectl wait fails where there is no pod yet
				pods := p.cluster.Kubectl(t, "get", "pods", "-n", bare, "-o", "name")
				if strings.Count(pods, "pod/") == n {
					break
				}
			}
			p.cluster.Kubectl(t, "wait", "pods", "--all", "-n", bare, "--for=condition=Ready", "--timeout=5m")
			d := time.Since(began)
			// Without --force: the next turn would start while the kubelets still end these containers.
			p.cluster.Kubectl(t, "delete", "statefulset,pod,pvc", "--all", "-n", bare, "--grace-period=1")
			p.gone(t, bare)
			return d
		})
	m.add(Row{
		Work:   fmt.Sprintf("apply, %d sessions in pods", n),
		Took:   Time(took[0]),
		Floor:  Beside{"kubectl apply and kubectl wait of pods that sleep", Time(took[1])},
		Goals:  []Goal{{Says: "≤ 1.2 × floor", Got: ratio(took[0], took[1]), Bound: 1.2}},
		Missed: "What the floor has not is to copy agentform-shim to each volume, and to start the agent in the pod that is ready.",
	})
}

// status is `agentform status` of sessions in pods, each of which is asked for its screen. No plain
// object can be asked for one: these agents are real.
func (p *pods) status(t *testing.T, m *measurement) {
	const byHand = 10
	n := byHand
	if m.full {
		n = 100
	}
	p.want(t, n)
	p.run(t, "agentform", "apply", "--auto-approve")
	names := strings.Fields(p.cluster.Kubectl(t, "get", "pods", "-n", p.namespace, "-o", "name"))
	if len(names) != n {
		t.Fatalf("%d pods, want %d", len(names), n)
	}
	var own []time.Duration
	took := m.turns(3,
		func() time.Duration {
			c := p.command("agentform", "status")
			began := time.Now()
			if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), fmt.Sprintf("%d running", n)) {
				t.Fatalf("%v: %s", err, out)
			}
			d := time.Since(began)
			own = append(own, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
			return d
		},
		func() time.Duration {
			began := time.Now()
			for _, name := range names[:byHand] {
				p.cluster.Kubectl(t, "exec", "-n", p.namespace, name, "--", "tmux", "-S", shim.TmuxSocket, "capture-pane", "-p")
			}
			return time.Since(began) * time.Duration(n) / byHand
		},
		func() time.Duration { return p.list(t, p.namespace) })
	work := fmt.Sprintf("status, %d live sessions in pods", n)
	r := Row{
		Work:   work,
		Took:   Time(took[0]),
		Floor:  Beside{"a list of the pods, on a new connection", Time(took[2])},
		Today:  Beside{"kubectl exec of tmux capture-pane for each", Time(took[1])},
		Shown:  true,
		Missed: "A command in each pod shows its screen. For each, the API server and the kubelet accept a connection and runc starts a process, all on the processors of this machine.",
	}
	if n == 100 {
		r.Goals = []Goal{{Says: "≤ 1 s", Got: took[0].Seconds(), Bound: 1}}
	}
	m.add(r)
	m.add(Row{Work: work + ": agentform's own processor time", Took: Time(m.typical(own))})
	// A destroy would look at each volume, by a pod.
	p.cluster.Kubectl(t, "delete", "statefulset,pod,pvc", "--all", "-n", p.namespace, "--grace-period=0", "--force")
	p.gone(t, p.namespace)
}

// gone waits until a namespace has no pods and no claims.
func (p *pods) gone(t *testing.T, namespace string) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		left := p.cluster.Kubectl(t, "get", "pods,pvc", "-n", namespace, "-o", "name")
		if left == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left in %s: %s", namespace, left)
		}
	}
}

// objects are those of the project, without what the server adds.
func (p *pods) objects(t *testing.T, namespace string) (sets, claims, all []map[string]any) {
	t.Helper()
	of := func(kind string) (items []map[string]any) {
		var found struct{ Items []map[string]any }
		if err := json.Unmarshal([]byte(p.cluster.Kubectl(t, "get", kind, "-n", p.namespace, "-o", "json")), &found); err != nil {
			t.Fatal(err)
		}
		for _, o := range found.Items {
			meta := o["metadata"].(map[string]any)
			for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "finalizers", "ownerReferences"} {
				delete(meta, name)
			}
			meta["namespace"] = namespace
			items = append(items, o)
		}
		return items
	}
	return of("statefulset"), of("pvc"), of("pod")
}

// sleeping is a manifest of the project's objects in another namespace. Its pods need no
// agentform-shim.
func (p *pods) sleeping(t *testing.T, namespace string) string {
	t.Helper()
	sets, claims, _ := p.objects(t, namespace)
	var text strings.Builder
	for _, c := range claims {
		delete(c, "status")
		delete(c["spec"].(map[string]any), "volumeName")
		delete(c["metadata"].(map[string]any), "annotations")
	}
	for _, s := range sets {
		delete(s, "status")
		pod := s["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
		c := pod["containers"].([]any)[0].(map[string]any)
		delete(c, "startupProbe")
		delete(c, "readinessProbe")
		c["command"] = []any{"sleep", "100000"}
	}
	for _, o := range append(claims, sets...) {
		b, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s\n---\n", b)
	}
	return text.String()
}

// observe is what the runtime sees of many sessions: objects of the API without containers.
// Nothing acts on them, because the programs that would do not run.
func (p *pods) observe(t *testing.T, m *measurement) {
	many := p.cluster.Namespace(t)
	sets, _, all := p.objects(t, many)
	if len(sets) == 0 || len(all) != len(sets) || !strings.HasPrefix(all[1]["metadata"].(map[string]any)["name"].(string), sets[1]["metadata"].(map[string]any)["name"].(string)) {
		t.Fatalf("%d StatefulSets and %d pods, want one each", len(sets), len(all))
	}
	lineage := sets[1]["metadata"].(map[string]any)["labels"].(map[string]any)["agentform.project"].(string)
	p.cluster.Kill(t, "controller-manager")
	defer func() { // before anything makes pods for the StatefulSets
		p.cluster.Kubectl(t, "delete", "statefulset,pod", "--all", "-n", many, "--grace-period=0", "--force", "--wait=false")
		p.cluster.Start(t, "controller-manager")
	}()
	plot := Plot{Name: "kubernetes", Title: "Observation of N sessions in pods", Unit: Seconds}
	ours, lists := Curve{Name: "agentform's runtime", Ours: true}, Curve{Name: "a list of the pods"}
	made := 0
	for _, n := range m.each(100, 300, 1000) {
		p.replicate(t, many, sets[1], all[1], made, n) // the first one's agent was killed
		made = n
		took := m.turns(7,
			func() time.Duration {
				r := kubernetes.New(kubernetes.Config{Kubeconfig: p.cluster.Kubeconfig(), Namespace: many, DataDir: filepath.Join(p.dir, ".agentform"), Lineage: lineage})
				defer r.Close()
				began := time.Now()
				lives, err := r.Observe(t.Context(), false)
				d := time.Since(began)
				alive := 0
				for _, l := range lives {
					if l.Liveness == session.Alive {
						alive++
					}
				}
				if err != nil || alive != n {
					t.Fatalf("%d of %d sessions are alive, want %d: %v", alive, len(lives), n, err)
				}
				return d
			},
			func() time.Duration { return p.list(t, many) })
		m.add(Row{
			Work:  fmt.Sprintf("the observation of a plan, %d sessions in pods", n),
			Took:  Time(took[0]),
			Floor: Beside{"a list of the pods, read and not decoded", Time(took[1])},
			Goals: []Goal{{Says: "≤ 1.5 × floor + 100 ms", Got: took[0].Seconds() / (1.5*took[1].Seconds() + 0.1), Bound: 1}},
		})
		ours.Add(n, took[0].Seconds())
		lists.Add(n, took[1].Seconds())
	}
	plot.Curves = []Curve{ours, lists}
	m.plots = append(m.plots, plot)
}

// replicate makes copies of a StatefulSet and its pod, with the pod's status.
func (p *pods) replicate(t *testing.T, namespace string, set, pod map[string]any, from, to int) {
	t.Helper()
	setText, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	// No scheduler and no kubelet acts on a pod of a node that does not exist.
	spec := pod["spec"].(map[string]any)
	node := spec["nodeName"]
	spec["nodeName"] = "none"
	podText, err := json.Marshal(pod)
	spec["nodeName"] = node
	if err != nil {
		t.Fatal(err)
	}
	name := set["metadata"].(map[string]any)["name"].(string)
	var all sync.WaitGroup
	numbers := make(chan int)
	for range 16 {
		all.Go(func() {
			for i := range numbers {
				renamed := func(text []byte) string { return strings.ReplaceAll(string(text), name, fmt.Sprintf("%s-%d", name, i)) }
				p.send(t, http.MethodPost, "/apis/apps/v1/namespaces/"+namespace+"/statefulsets", renamed(setText))
				p.send(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", renamed(podText))
				p.send(t, http.MethodPut, fmt.Sprintf("/api/v1/namespaces/%s/pods/%s-%d-0/status", namespace, name, i), renamed(podText))
			}
		})
	}
	for i := from; i < to; i++ {
		numbers <- i
	}
	close(numbers)
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func (p *pods) send(t *testing.T, method, path, text string) {
	q, err := http.NewRequest(method, p.server+path, strings.NewReader(text))
	if err != nil {
		t.Error(err)
		return
	}
	q.Header.Set("Content-Type", "application/json")
	a, err := p.http.Do(q)
	if err != nil {
		t.Error(err)
		return
	}
	defer a.Body.Close()
	if said, _ := io.ReadAll(a.Body); a.StatusCode >= 300 {
		t.Errorf("%s %s: %s: %.300s", method, path, a.Status, said)
	}
}
