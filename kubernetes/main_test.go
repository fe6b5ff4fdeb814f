//go:build kubernetes

package kubernetes_test

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/kubernetes"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

const image = "localhost/agentform-test:1"

// dataDir is the data directory of the tests.
var dataDir string

// shims are the paths of agentform-shim in the data directory, by architecture.
var shims = map[string]string{"amd64": "", "arm64": ""}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "afk8s")
		if err == nil {
			defer os.RemoveAll(dir)
			dataDir = filepath.Join(dir, "data dir.ü")
			for arch := range shims {
				shims[arch] = filepath.Join(dataDir, "bin", "shim-linux-"+arch)
				build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", shims[arch], "github.com/agentform/agentform/cmd/agentform-shim")
				build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch)
				if out, failed := build.CombinedOutput(); failed != nil {
					err = fmt.Errorf("%w: %s", failed, out)
				}
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// imported copies the image to the nodes, once.
var imported = sync.OnceValue(func() error {
	layer, err := dockertest.Layer(dockertest.Programs()...)
	if err != nil {
		return err
	}
	archive, err := kubetest.Archive(image, layer, map[string]any{"Env": dockertest.Variables})
	if err != nil {
		return err
	}
	for _, node := range kubetest.Nodes {
		if err := kubetest.Import(filepath.Join(os.Getenv("AGENTFORM_KUBE"), node), archive); err != nil {
			return err
		}
	}
	return nil
})

// agent is a program that exits, prints, or only records, for each line.
const agent = `
stty -echo
env -0 >"$STATE/environ"
: >"$STATE/heard"
while IFS= read -r line; do
	printf '%s\n' "$line" >>"$STATE/heard"
	case $line in
	"exit "*) exit "${line#exit }" ;;
	"say "*) printf '%s\n' "${line#say }" ;;
	esac
done
`

const lineage = "5e1f-lineage/ü"

// bed is a runtime in a namespace of its own.
type bed struct {
	cluster   kubetest.Cluster
	namespace string
	runtime   *kubernetes.Runtime
	with      func(*session.KubernetesConfig)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{cluster: kubetest.Open(t)}
	if err := imported(); err != nil {
		t.Fatal(err)
	}
	b.namespace = b.cluster.Namespace(t)
	b.cluster.Kubectl(t, "label", "namespace", b.namespace, "pod-security.kubernetes.io/enforce=restricted")
	b.runtime = b.open()
	t.Cleanup(func() {
		b.cluster.Kubectl(t, "delete", "statefulset,pod,pvc", "--all", "-n", b.namespace, "--grace-period=1", "--wait=false")
		b.runtime.Close()
	})
	return b
}

func (b *bed) open() *kubernetes.Runtime {
	return kubernetes.New(kubernetes.Config{Kubeconfig: b.cluster.Kubeconfig(), Namespace: b.namespace, DataDir: dataDir, Lineage: lineage, Shims: shims, Exec: []string{"agentform", "kubernetes-exec"}})
}

func newRun() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func (b *bed) launch(name string) session.Launch {
	run := newRun()
	c := &session.KubernetesConfig{Image: image, ReadOnly: true, Namespace: b.namespace, User: "1000:1000",
		Storage: session.PodStorage{Class: "local", Size: 1 << 20}, ScheduleTimeout: session.Duration(time.Minute)}
	if b.with != nil {
		b.with(c)
	}
	return session.Launch{
		Mark: session.Mark{Project: lineage, Address: session.Keyed("w", `a."b"|ü#{pane_id}\`), ID: name, Run: run, Hash: "1:abc"},
		Name: name,
		Dir:  session.VolumeRoot + "/workspaces/" + name + `/work $HOME %H #{pane_id} #(touch x) "it's" ü`,
		Argv: []string{"sh", "-c", agent, `an "odd" $argument; #{pane_id} ü`},
		Env:  []string{"STATE=" + session.VolumeRoot + "/runs/" + run, "ODD=a b;$c\n\"d\"ü"},
		Stop: session.Stop{Signal: "SIGTERM", Grace: session.Duration(5 * time.Second)},
		Spec: session.Spec{
			Runtime:   session.RuntimeSpec{Kind: "kubernetes", Name: "box", Kubernetes: c},
			Workspace: session.Workspace{Mode: session.Plain},
		},
	}
}

// exec runs a command in the pod of a place and returns what it printed.
func (b *bed) exec(p session.Location, argv ...string) (string, error) {
	return b.cluster.TryKubectl("", append([]string{"exec", "-n", b.namespace, p.Name + "-0", "--"}, argv...)...)
}

func (b *bed) see(t *testing.T, p session.Location) (session.Live, bool) {
	t.Helper()
	lives, err := b.runtime.Observe(t.Context(), false)
	if err != nil {
		t.Fatalf("observe: %v", err)
	}
	i := slices.IndexFunc(lives, func(l session.Live) bool { return l.Location.Name == p.Name })
	if i < 0 {
		return session.Live{}, false
	}
	return lives[i], true
}

func (b *bed) create(t *testing.T, l session.Launch) session.Location {
	t.Helper()
	p, err := b.runtime.Create(t.Context(), l)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return p
}

// state returns a file that the agent in the place wrote, or "" if it does not exist.
func (b *bed) state(t *testing.T, p session.Location, name string) string {
	t.Helper()
	l, ok := b.see(t, p)
	if !ok {
		t.Fatalf("there is no session %q", p.Name)
	}
	text, err := b.exec(p, "cat", session.VolumeRoot+"/runs/"+l.Mark.Run+"/"+name)
	if err != nil {
		return ""
	}
	return text
}

func (b *bed) listening(t *testing.T, p session.Location) {
	t.Helper()
	l, _ := b.see(t, p)
	wait.For(t, p.Name+" reads", func() (any, bool) {
		_, err := b.exec(p, "ls", session.VolumeRoot+"/runs/"+l.Mark.Run+"/heard")
		return err, err == nil
	})
}

func (b *bed) send(t *testing.T, p session.Location, text string) {
	t.Helper()
	b.listening(t, p)
	if err := b.runtime.Send(t.Context(), p, session.Input{Text: text}); err != nil {
		t.Fatalf("send: %v", err)
	}
}

// kill ends the agent with SIGKILL.
func (b *bed) kill(t *testing.T, p session.Location) {
	t.Helper()
	l, _ := b.see(t, p)
	var pid int
	wait.For(t, "the log has the agent's number", func() (any, bool) {
		log := b.cluster.Kubectl(t, "logs", "-n", b.namespace, p.Name+"-0")
		for line := range strings.Lines(log) {
			var o struct {
				Run string
				PID int
			}
			if json.Unmarshal([]byte(line), &o) == nil && o.Run == l.Mark.Run && o.PID != 0 {
				pid = o.PID
			}
		}
		return log, pid != 0
	})
	if out, err := b.exec(p, "sh", "-c", fmt.Sprintf("kill -9 %d", pid)); err != nil {
		t.Fatalf("kill: %v: %s", err, out)
	}
}

// visible returns everything that the cluster and the processes show of a place.
func (b *bed) visible(t *testing.T, p session.Location) string {
	t.Helper()
	processes, err := b.exec(p, "sh", "-c", "cat /proc/1/environ /proc/*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	launch, err := b.exec(p, "sh", "-c", `cat "$1"/runs/*/launch.json`, "sh", session.VolumeRoot)
	if err != nil {
		t.Fatal(err)
	}
	return b.cluster.Kubectl(t, "get", "all,pvc,secrets,configmaps,events", "-n", b.namespace, "-o", "yaml") +
		b.cluster.Kubectl(t, "logs", "-n", b.namespace, p.Name+"-0") + processes + launch
}

func TestConformance(t *testing.T) {
	places := make(chan struct{}, 3) // concurrent namespaces: a node has two cores in all
	sessiontest.Suite(t, func(t *testing.T) sessiontest.Harness {
		t.Parallel()
		places <- struct{}{}
		t.Cleanup(func() { <-places })
		b := newBed(t)
		return sessiontest.Harness{
			Runtime: b.runtime,
			Lineage: lineage,
			Launch:  func(t *testing.T, name string) session.Launch { return b.launch(name) },
			Exit:    func(t *testing.T, p session.Location, code int) { b.send(t, p, fmt.Sprintf("exit %d", code)) },
			Kill:    func(t *testing.T, p session.Location) { b.kill(t, p) },
			Say: func(t *testing.T, p session.Location, lines ...string) {
				b.send(t, p, "say "+strings.Join(lines, "\nsay "))
			},
			Heard: func(t *testing.T, p session.Location) []string {
				return strings.Split(strings.TrimSuffix(b.state(t, p, "heard"), "\n"), "\n")
			},
			Environment: func(t *testing.T, p session.Location, name string) string {
				b.listening(t, p)
				for v := range strings.SplitSeq(b.state(t, p, "environ"), "\x00") {
					if value, ok := strings.CutPrefix(v, name+"="); ok {
						return value
					}
				}
				return ""
			},
			Visible: b.visibleOf,
			Foreign: func(t *testing.T, name string) session.Location {
				b.cluster.Apply(t, fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": %q, "namespace": %q},
					"spec": {"replicas": 0, "serviceName": "x", "selector": {"matchLabels": {"app": "x"}},
					"template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "x", "image": %q}]}}}}`, name, b.namespace, image))
				return session.Location{Runtime: "kubernetes", Name: name}
			},
		}
	})
}

func (b *bed) visibleOf(t *testing.T, p session.Location) string { return b.visible(t, p) }
