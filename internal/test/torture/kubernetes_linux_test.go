//go:build real && kubernetes

package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

const (
	// clusterFaultsInCI bounds the time in which faults of the API server are tried
	// unless all are asked for.
	clusterFaultsInCI = 25 * time.Second
	// fleets is how many projects meet faults at the same time: most of an apply is waiting
	// for pods.
	fleets = 2
)

// clusterOnce are faults that once did harm.
var clusterOnce = []kubetest.Fault{
	{Call: "POST statefulsets", Nth: 1, Kind: kubetest.CutAfter}, // its volume was removed, and the StatefulSet stayed
}

// TestClusterFaults is TestFaults for Kubernetes, with a shared state: each call of a whole
// apply to the API server fails, in turn and in each way. AGENTFORM_FAULTS=TEXT tries those
// whose name has the text.
func TestClusterFaults(t *testing.T) {
	cluster := kubetest.Open(t)
	image, folder := clusterImage(t, cluster)
	seed := number(t, "AGENTFORM_TORTURE_SEED", usualSeed())
	asked := os.Getenv("AGENTFORM_FAULTS")
	all, end := make(chan kubetest.Fault), time.Time{}
	var listed sync.Once
	var mu sync.Mutex
	met, tried := 0, 0
	t.Run("fleets", func(t *testing.T) {
		for n := range fleets {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				proxy := cluster.Proxy(t)
				f := newFleet(t, cluster, image, folder, proxy.Kubeconfig)
				f.proxy = proxy
				listed.Do(func() {
					faults := f.faults()
					r := mathrand.New(mathrand.NewPCG(seed, 3))
					r.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
					faults = append(slices.Clone(clusterOnce), faults...)
					if asked != "" && asked != "all" {
						faults = slices.DeleteFunc(faults, func(f kubetest.Fault) bool { return !strings.Contains(name(f), asked) })
					}
					t.Logf("%d faults, AGENTFORM_TORTURE_SEED=%d", len(faults), seed)
					end = time.Now().Add(clusterFaultsInCI)
					go func() {
						defer close(all)
						for n, f := range faults {
							if asked != "" || n <= len(clusterOnce) || time.Now().Before(end) {
								all <- f
							}
						}
					}()
				})
				for fault := range all {
					hit := f.meet(fault)
					mu.Lock()
					tried++
					if hit {
						met++
					}
					mu.Unlock()
				}
				f.end()
			})
		}
	})
	t.Logf("%d of %d faults were met", met, tried)
	if met < max(1, tried/3) {
		t.Error("too few to prove anything")
	}
}

// TestClusterServerKilled kills the API server in the middle of applies. It is started again
// at once.
func TestClusterServerKilled(t *testing.T) {
	cluster := kubetest.Open(t)
	image, folder := clusterImage(t, cluster)
	f := newFleet(t, cluster, image, folder, cluster.Kubeconfig()) // with HTTP/2
	seed := number(t, "AGENTFORM_TORTURE_SEED", usualSeed())
	kills := int(number(t, "AGENTFORM_SERVER_KILLS", serverKillsInCI))
	t.Logf("AGENTFORM_SERVER_KILLS=%d AGENTFORM_TORTURE_SEED=%d", kills, seed)
	r := mathrand.New(mathrand.NewPCG(seed, 4))
	span := 2 * time.Second // of an apply, about
	for range kills {
		f.manifest()
		began := time.Now()
		apply := f.start("apply", "--auto-approve")
		time.Sleep(time.Duration(r.Int64N(int64(span))))
		at := time.Since(began).Round(time.Millisecond)
		cluster.Kill(t, "apiserver")
		cluster.Start(t, "apiserver")
		err := <-apply.ended
		f.t.Logf("the API server killed after %s: %v after %s", at, err, time.Since(began).Round(time.Millisecond))
		log := filepath.Join(f.root, "apply.log")
		out, readErr := os.ReadFile(log)
		if err := errors.Join(readErr, os.Remove(log)); err != nil {
			t.Fatal(err)
		}
		f.checkTold("API server killed", true, string(out), apply.cmd.ProcessState.ExitCode())
		f.inspect()
		began = time.Now()
		// An API server that comes back late cannot be told that the lock is free: it expires.
		if f.converge("--lock-timeout", "90s"); t.Failed() {
			t.Fatalf("killed after %s; the apply ended with %v:\n%s", at, err, out)
		}
		span = max(time.Second, time.Since(began)/2)
	}
	f.end()
}

// serverKillsInCI is how often the API server is killed by default.
const serverKillsInCI = 2

// applyKillsInCI is how often an apply in a cluster is killed by default.
const applyKillsInCI = 4

// TestClusterApplyKilled kills applies in the middle. No session that one of them was starting
// reads as if it were being started still.
func TestClusterApplyKilled(t *testing.T) {
	cluster := kubetest.Open(t)
	image, folder := clusterImage(t, cluster)
	f := newFleet(t, cluster, image, folder, cluster.Kubeconfig())
	seed := number(t, "AGENTFORM_TORTURE_SEED", usualSeed())
	kills := int(number(t, "AGENTFORM_KILLS", applyKillsInCI))
	t.Logf("AGENTFORM_KILLS=%d AGENTFORM_TORTURE_SEED=%d", kills, seed)
	f.rand, f.span = mathrand.New(mathrand.NewPCG(seed, 5)), map[string]time.Duration{"apply": 3 * time.Second}
	for f.kills() < kills {
		f.manifest()
		apply := f.start("apply", "--auto-approve")
		f.kill(apply)
		f.t.Logf("apply ended after %s", time.Since(apply.began).Round(time.Millisecond))
		out, code := f.run("agentform", "status", "--json")
		var read struct{ Sessions []api.Session }
		if err := json.Unmarshal([]byte(out), &read); err != nil {
			t.Fatalf("status ended with %d: %v\n%s", code, err, out)
		}
		for _, x := range read.Sessions {
			f.t.Logf("%s: %s: %s", x.Name, x.State, x.Detail)
			if x.State == session.StateUnknown && !strings.Contains(x.Detail, "is being removed") { // that is the cluster's work
				f.t.Errorf("%s is unknown: %s", x.Name, x.Detail)
			}
		}
		f.inspect()
		if f.converge(); t.Failed() {
			log, _ := os.ReadFile(filepath.Join(f.root, "apply.log"))
			t.Fatalf("after a kill; the applies wrote:\n%s", log)
		}
	}
	f.end()
}

// TestClusterApplies applies on two machines with the same shared state at the same time.
func TestClusterApplies(t *testing.T) {
	cluster := kubetest.Open(t)
	image, folder := clusterImage(t, cluster)
	f := newFleet(t, cluster, image, folder, cluster.Kubeconfig())
	f.write("other.sh", otherMachine)
	f.write("boot", "11111111-2222-3333-4444-555555555555\n")
	f.write("machine", "11111111222233334444555555555555\n")
	for round, wait := range []string{"0s", "2m"} {
		f.manifest()
		var ends [2]struct {
			out  string
			code int
		}
		var group sync.WaitGroup
		for n, argv := range [][]string{{"agentform"}, {"unshare", "-mu", "sh", "other.sh"}} {
			group.Go(func() {
				argv = append(argv, "apply", "--auto-approve", "--lock-timeout", wait)
				ends[n].out, ends[n].code = f.run(argv[0], argv[1:]...)
			})
		}
		group.Wait()
		f.t.Logf("round %d: exit codes %d and %d", round, ends[0].code, ends[1].code)
		for n, e := range ends {
			const locked = 4 // the exit code
			alone := round == 0 && e.code == locked && ends[1-n].code == 0 && strings.Contains(e.out, "Lock Info:")
			if e.code != 0 && !alone {
				t.Errorf("round %d, machine %d: the apply ended with %d:\n%s", round, n, e.code, e.out)
			}
		}
		f.run("agentform", "plan") // the other machine may have been the last to write the state
		f.inspect()
		f.converge()
	}
	f.end()
}

// otherMachine runs agentform as on another machine, with a new clone at the same path.
const otherMachine = `
hostname other
mount --bind boot /proc/sys/kernel/random/boot_id
if [ -e /etc/machine-id ]; then mount --bind machine /etc/machine-id; fi
mount -t tmpfs -o mode=700 none "$XDG_RUNTIME_DIR"
mount -t tmpfs -o mode=700 none .agentform
exec "$AGENTFORM" "$@"
`

func name(f kubetest.Fault) string { return fmt.Sprintf("%s %d: %s", f.Call, f.Nth, f.Kind) }

// clusterImage gives the nodes an image with the fake agent, and returns the agent's
// directory in it.
func clusterImage(t *testing.T, cluster kubetest.Cluster) (image, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "aft") // pods have a /tmp of their own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	agent, err := os.ReadFile(filepath.Join(os.Getenv(bin), "fakeagent"))
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "fakeagent"), agent, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	layer, err := dockertest.Layer(append(dockertest.Programs(), filepath.Join(dir, "fakeagent"))...)
	if err != nil {
		t.Fatal(err)
	}
	image = "localhost/agentform-torture:1"
	archive, err := kubetest.Archive(image, layer, map[string]any{"Env": dockertest.Variables})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Import(t, archive)
	return image, dir
}

// fleet is a project whose sessions are in pods.
type fleet struct {
	*torture
	cluster   kubetest.Cluster
	proxy     *kubetest.Proxy
	namespace string
	image     string
	folder    string   // of the fake agent in the image
	n         int      // of the manifest
	want      []string // the sessions that are to run
}

func newFleet(t *testing.T, cluster kubetest.Cluster, image, folder, kubeconfig string) *fleet {
	t.Helper()
	f := &fleet{torture: &torture{project: newProject(t)}, cluster: cluster, namespace: cluster.Namespace(t), image: image, folder: folder}
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := f.run("sh", "-c", "tail -n 30 .agentform/agents/*/*/events.jsonl")
			t.Log(out)
		}
		f.cluster.Kubectl(t, "delete", "statefulset,pod,pvc", "--all", "-n", f.namespace, "--grace-period=1", "--wait=false")
	})
	f.env = append(f.env, "KUBECONFIG="+kubeconfig, "AGENTFORM="+filepath.Join(os.Getenv(bin), "agentform"))
	f.manifest()
	f.converge()
	return f
}

// manifest writes the next of two manifests in turn: sessions are created, replaced,
// restarted with a prompt, paused, resumed and destroyed.
func (f *fleet) manifest() {
	odd := f.n % 2
	f.n++
	pick := func(even, other string) string { return []string{even, other}[odd] }
	f.want = []string{"api", "mail", "note", pick("docs", "web")}
	text := fmt.Sprintf(`
agentform {
  project     = "shop"
  max_running = 100
  backend "kubernetes" {
    namespace = %[1]q
  }
}
`, f.namespace)
	for _, s := range f.want {
		labels, more := "", ""
		switch s {
		case "api":
			more = fmt.Sprintf("  prompt  = \"do %d\"\n", f.n)
		case "mail":
			labels = fmt.Sprintf("  labels    = { n = \"n%d\" }\n", odd)
		case "note":
			more = fmt.Sprintf("  desired = %q\n", pick("running", "paused"))
		}
		text += fmt.Sprintf(`
runtime "kubernetes" %[1]q {
  namespace        = %[2]q
  image            = %[3]q
  schedule_timeout = "1m" # controllers wait longer each time that they miss the API server
%[4]s
  storage {
    class = "local"
    size  = "1MiB"
  }
}

agent %[1]q {
  command    = ["%[5]s/fakeagent", "-alone", "%[6]s/alone-%[1]s"]
  ready      = "ready>"
  prompt_via = "paste"
}

session %[1]q {
  agent   = agent.%[1]s
  runtime = runtime.kubernetes.%[1]s
  env     = { FLEET = "%[8]s/" } # by which the test finds its agents
%[7]s
  stop {
    grace = "1s"
  }
  workspace {
    mode       = "plain"
    on_destroy = "remove_clean"
  }
}
`, s, f.namespace, f.image, labels, f.folder, session.VolumeRoot, more, f.root)
	}
	f.write("agentform.hcl", text)
}

// faults returns each call of the applies from one manifest to the other and back, in each
// way.
func (f *fleet) faults() []kubetest.Fault {
	f.t.Helper()
	calls := map[string]int{}
	for range 2 {
		f.manifest()
		f.proxy.Expect(kubetest.Fault{})
		if out, code := f.run("agentform", "apply", "--auto-approve"); code != 0 {
			f.t.Fatalf("the apply ended with %d:\n%s", code, out)
		}
		for call, n := range f.proxy.Calls() {
			if strings.HasPrefix(call, "GET") && call != "GET pods/*/exec" {
				n = min(n, 4) // it waits for something
			}
			calls[call] = max(calls[call], n)
		}
	}
	var all []kubetest.Fault
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		for nth := range calls[call] {
			for _, kind := range []kubetest.Kind{kubetest.Failed, kubetest.Throttled, kubetest.CutBefore, kubetest.CutAfter} {
				if kind == kubetest.CutBefore && strings.HasPrefix(call, "GET") && call != "GET pods/*/exec" {
					continue // as after it
				}
				all = append(all, kubetest.Fault{Call: call, Nth: nth + 1, Kind: kind})
			}
		}
	}
	f.t.Logf("calls: %v", calls)
	return all
}

// meet applies the next manifest while a call fails, checks what that left, and applies it
// again. It reports whether the call was made.
func (f *fleet) meet(fault kubetest.Fault) (hit bool) {
	f.t.Helper()
	began := time.Now()
	f.manifest()
	f.proxy.Expect(fault)
	out, code := f.run("agentform", "apply", "--auto-approve")
	hit = f.proxy.Met() > 0
	f.t.Logf("%s: met: %v, exit code %d after %s", name(fault), hit, code, time.Since(began).Round(time.Millisecond))
	f.proxy.Expect(kubetest.Fault{})
	f.checkTold(name(fault), hit, out, code)
	f.discardKept(out)
	f.inspect()
	if f.converge(); f.t.Failed() {
		f.t.Fatalf("with %s; the apply ended with %d:\n%s", name(fault), code, out)
	}
	return hit
}

// discardKept removes the volume of a session that an apply destroyed and could not examine: it
// says that it keeps it.
func (f *fleet) discardKept(out string) {
	f.t.Helper()
	for _, kept := range regexp.MustCompile(`\(claim (\S+) of namespace`).FindAllStringSubmatch(out, -1) {
		f.t.Logf("kept: %s", kept[1])
		f.cluster.Kubectl(f.t, "delete", "--wait=false", "--ignore-not-found", "pvc/"+kept[1], "pod/"+kept[1]+"-once", "-n", f.namespace)
	}
}

// checkTold fails the test unless the apply succeeded or said what failed.
func (f *fleet) checkTold(what string, hit bool, out string, code int) {
	f.t.Helper()
	_, text, _ := strings.Cut(out, "Error: ")
	switch {
	case strings.Contains(out, "goroutine ") || strings.Contains(out, "panic:"):
		f.t.Errorf("%s: it crashed:\n%s", what, out)
	case code == 0:
	case !hit:
		f.t.Errorf("%s: nothing failed, and the exit code is %d:\n%s", what, code, out)
	case code != 1, !strings.Contains(text, "session.") && !strings.Contains(text, "API server") && !strings.Contains(text, "agentform-state-"):
		f.t.Errorf("%s: the exit code is %d, and the error says not enough:\n%s", what, code, out)
	}
}

// object is what the tests read of an object of the cluster.
type object struct {
	Kind     string
	Metadata struct {
		Name              string
		Labels            map[string]string
		DeletionTimestamp string
	}
}

// objects returns what the namespace has for sessions.
func (f *fleet) objects() (all []object) {
	f.t.Helper()
	var list struct{ Items []object }
	if err := json.Unmarshal([]byte(f.cluster.Kubectl(f.t, "get", "statefulset,pod,pvc", "-n", f.namespace, "-o", "json")), &list); err != nil {
		f.t.Fatal(err)
	}
	return list.Items
}

// inspect checks what an apply left: what lives is on record, and no session has or had two
// agents.
func (f *fleet) inspect() {
	f.t.Helper()
	agents, objects := f.agents(), f.objects()
	s, err := f.state()
	if err != nil {
		f.t.Fatalf("the state cannot be read: %v", err)
	}
	runs, ids := map[string]bool{}, map[string]bool{}
	for _, r := range s.Sessions {
		runs[r.Run.ID], ids[r.ID] = true, true
	}
	seen := map[string]process{}
	for _, a := range agents {
		if !runs[a.run] && a.Alive() {
			f.t.Errorf("agent %d of %s lives in run %s, which is not on record: %v", a.PID, a.of(), a.run, s.Sessions)
		}
		if other := seen[a.of()]; other.Alive() && a.Alive() {
			f.t.Errorf("%s has two agents: %d and %d", a.of(), other.PID, a.PID)
		}
		seen[a.of()] = a
	}
	for _, o := range objects {
		if o.Kind == "StatefulSet" && !ids[o.Metadata.Labels["agentform.id"]] {
			f.t.Errorf("StatefulSet %s is of no session on record", o.Metadata.Name)
		}
	}
	doubled, err := filepath.Glob(filepath.Join(f.cluster.Dir(), "*", "volumes", "*", "alone-*.doubled"))
	if err != nil || len(doubled) > 0 {
		f.t.Errorf("sessions had two agents: %v, %v", doubled, err)
	}
}

// agents returns the fake agents of the project that live, in pods of this machine.
func (f *fleet) agents() []process { return f.processes("fakeagent") }

// of returns the session of an agent in a pod.
func (x process) of() string { return strings.TrimPrefix(x.session(), "alone-") }

// converge is one apply without a fault, once the cluster has removed what an apply before it
// told it to. Then the plan is empty, and the cluster has what is wanted and nothing more.
func (f *fleet) converge(flags ...string) {
	f.t.Helper()
	f.removed()
	out, code := f.run("agentform", append([]string{"apply", "--auto-approve", "--wait"}, flags...)...)
	plan, left := f.run("agentform", "plan", "--detailed-exitcode")
	if code != 0 || left != 0 {
		f.t.Fatalf("not converged: the apply ended with %d:\n%s\nand the plan with %d:\n%s", code, out, left, plan)
	}
	f.inspect()
	var live []string
	for _, a := range f.agents() {
		live = append(live, a.of())
	}
	if got, want := sorted(live), sorted(slices.Clone(f.want)); !slices.Equal(got, want) {
		f.t.Errorf("not converged: alive are %v, want %v", got, want)
	}
	// What is removed may take the cluster a moment.
	n := len(f.want)
	want := map[string]int{"StatefulSet": n, "Pod": n, "PersistentVolumeClaim": n}
	wait.For(f.t, fmt.Sprintf("the cluster has what is wanted: %v", f.want), func() (any, bool) {
		has := map[string]int{}
		for _, o := range f.objects() {
			has[o.Kind]++
		}
		return has, maps.Equal(has, want)
	})
}

// removed waits until no StatefulSet is being removed: its session is unknown until then, and
// nothing is planned for it. The garbage collector took more than a minute after an API server
// had been killed four times in three.
func (f *fleet) removed() {
	f.t.Helper()
	wait.For(f.t, "no StatefulSet is being removed", func() (any, bool) {
		var names []string
		for _, o := range f.objects() {
			if o.Kind == "StatefulSet" && o.Metadata.DeletionTimestamp != "" {
				names = append(names, o.Metadata.Name)
			}
		}
		return names, len(names) == 0
	})
}

// end destroys the project.
func (f *fleet) end() {
	f.t.Helper()
	if out, code := f.run("agentform", "destroy", "--auto-approve"); code != 0 || len(f.agents()) > 0 {
		f.t.Errorf("destroy ended with %d, and there are %v:\n%s", code, f.agents(), out)
	}
}
