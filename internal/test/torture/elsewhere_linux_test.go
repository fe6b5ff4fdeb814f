//go:build real

package torture

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/dockertest"
)

const (
	// farFaultsInCI is how many faults are tried unless all are asked for.
	farFaultsInCI = 3
	// mostOfOne is how many requests of one operation meet a fault each.
	mostOfOne = 8
)

// TestElsewhereFaults cuts the connection to an engine on another machine before and after
// each request of a whole apply: for that request, or from then on until the apply has
// ended. By ssh, the process of ssh is killed. In CI it tries some, by the seed and one way
// to the engine; with AGENTFORM_FAULTS=all every one both ways.
func TestElsewhereFaults(t *testing.T) {
	image, err := dockertest.Build(append(dockertest.Programs(), "flock")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	engine, err := dockertest.StartFar()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := engine.Load(image); err != nil {
		t.Fatal(err)
	}
	seed := number(t, "AGENTFORM_TORTURE_SEED", usualSeed())
	all := os.Getenv("AGENTFORM_FAULTS") == "all"
	ways := []string{"tls", "ssh"}
	if !all {
		ways = ways[seed%2 : seed%2+1]
	}
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			b := newFarBoxes(t, engine, image, way)
			b.manifest(0)
			b.converge()
			b.proxy.expect(fault{})
			b.manifest(1)
			b.converge()
			faults := b.faults()
			if !all {
				r := mathrand.New(mathrand.NewPCG(seed, 3))
				r.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
				faults = faults[:farFaultsInCI]
			}
			t.Logf("%d faults, AGENTFORM_TORTURE_SEED=%d", len(faults), seed)
			for n, f := range faults {
				b.suffer(n, f)
			}
			b.finish()
		})
	}
}

// usualSeed returns the same seed each time, unless make torture asks for more: what is tried
// with every change does not depend on chance.
func usualSeed() uint64 {
	if os.Getenv("AGENTFORM_FAULTS") == "" && os.Getenv("AGENTFORM_TORTURE") == "" {
		return 1
	}
	return mathrand.Uint64()
}

// farBoxes is a project of containers on an engine elsewhere, behind a proxy of it.
type farBoxes struct {
	*boxes
	certs string
	work  string // what the agent of session.docs has written and not committed
}

func newFarBoxes(t *testing.T, engine *dockertest.Far, image, way string) *farBoxes {
	t.Helper()
	word := make([]byte, 5)
	rand.Read(word) // never fails
	b := &farBoxes{boxes: &boxes{torture: &torture{project: newProject(t)}, name: "aft" + hex.EncodeToString(word), image: image, engine: engine.Host()}}
	if way == "tls" {
		own, err := tls.LoadX509KeyPair(filepath.Join(engine.Certs, "server.pem"), filepath.Join(engine.Certs, "server-key.pem"))
		if err != nil {
			t.Fatal(err)
		}
		listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{own}})
		if err != nil {
			t.Fatal(err)
		}
		b.certs = fmt.Sprintf("  cert_path = %q\n", engine.Certs)
		b.proxy = newProxyOf(t, engine.Host(), "tcp://"+listener.Addr().String(), listener)
	} else {
		socket := filepath.Join(b.root, "engine.sock")
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		b.env[0] = "PATH=" + engine.Bin + ":" + strings.TrimPrefix(b.env[0], "PATH=")
		b.proxy = newProxyOf(t, engine.Host(), strings.TrimSuffix(engine.SSH, strings.TrimPrefix(engine.Host(), "unix://"))+socket, listener)
		b.proxy.cut = func() {
			for _, x := range b.processes("ssh") {
				_ = syscall.Kill(x.PID, syscall.SIGKILL)
			}
		}
	}
	b.cleanUp()
	return b
}

// manifest is one of two in turn: sessions are created, started again, stopped, paused,
// resumed and removed. The volume of session.docs always holds work.
func (b *farBoxes) manifest(n int) {
	odd := n % 2
	b.want = []string{"api", "mail", []string{"docs", "web"}[odd]}
	if odd == 0 {
		b.want = append(b.want, "shop")
	}
	// Two agents of one session would want the same lock, also in two containers.
	const alone = "exec 9>>.git/alone; flock -n 9 || echo two >>.git/two; "
	text := fmt.Sprintf(`
agentform {
  project     = %q
  max_running = 100
}
agent "idle" {
  command    = ["sh", "-c", %q]
  prompt_via = "none"
}
agent "writer" {
  command    = ["sh", "-c", %q]
  prompt_via = "none"
}
runtime "docker" "far" {
  image   = %q
  network = "none"
  host    = %q
%s}
`, b.name, alone+"exec sleep 100000", alone+"[ -e work ] || cat /proc/sys/kernel/random/uuid >work; exec sleep 100000", b.image, b.proxy.Host, b.certs)
	for _, s := range append(b.want, []string{"shop"}[:odd]...) {
		agent, more := "idle", ""
		switch {
		case s == "docs":
			agent = "writer"
		case s == "api":
			more = fmt.Sprintf("  env = { N = \"%d\" }\n", odd)
		case s == "mail" && odd == 1:
			more = "  desired = \"paused\"\n"
		case s == "shop" && odd == 1:
			more = "  desired = \"stopped\"\n"
		}
		text += fmt.Sprintf("session %q {\n  agent   = agent.%s\n  branch  = \"agents/%[1]s\"\n  runtime = runtime.docker.far\n%[3]s  workspace {\n    on_destroy = \"remove_clean\"\n  }\n}\n", s, agent, more)
	}
	b.write("agentform.hcl", text)
}

// faults are those of the requests since the last expect.
func (b *farBoxes) faults() (all []fault) {
	calls := b.proxy.operations()
	for _, op := range slices.Sorted(maps.Keys(calls)) {
		for nth := range min(calls[op], mostOfOne) {
			for _, kind := range []string{kindHangUp, kindCut, kindGone, kindLateGone} {
				all = append(all, fault{"engine elsewhere", op, nth + 1, kind})
			}
		}
	}
	return all
}

// suffer is one apply with a fault, and one without.
func (b *farBoxes) suffer(n int, f fault) {
	b.t.Helper()
	began := time.Now()
	b.manifest(n)
	b.proxy.expect(f)
	out, code := b.run("agentform", "apply", "--auto-approve")
	b.t.Logf("%s: met: %v, exit code %d after %s", f, b.proxy.wasMet(), code, time.Since(began).Round(time.Millisecond))
	b.told(f, b.proxy.wasMet(), out, code)
	b.inspectBoxes()
	b.proxy.expect(fault{})
	if b.converge(); b.t.Failed() {
		b.t.Fatalf("with %s; the apply ended with %d:\n%s", f, code, out)
	}
}

// converge is that of all containers. Work is where it was, and no session had two agents.
func (b *farBoxes) converge() {
	b.t.Helper()
	b.boxes.converge()
	for _, c := range b.containers() {
		look := "[ ! -e .git/two ] || echo two agents"
		docs := strings.HasPrefix(c, b.name+"-docs-")
		if docs { // its agent is given time to write
			look = "n=0; until [ -s work ] || [ $n = 600 ]; do n=$((n+1)); sleep 0.1; done; cat work;" + look
		}
		said, err := b.docker("exec", "-w", b.workspace(c), c, "sh", "-c", look)
		if err != nil || strings.Contains(said, "two agents") {
			b.t.Errorf("%s: %v %s", c, err, said)
		}
		if docs {
			if b.work == "" {
				b.work = said
			}
			if said == "" || said != b.work {
				b.t.Errorf("the work %q is %q", b.work, said)
			}
		}
	}
}

// workspace is the path of a container's workspace.
func (b *farBoxes) workspace(container string) string {
	b.t.Helper()
	s, err := b.state()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range s.Sessions {
		if r.Location.Name == container {
			return r.Tree.Path
		}
	}
	b.t.Fatalf("no session on record has container %s", container)
	return ""
}

// finish destroys the project: only the volume with work stays.
func (b *farBoxes) finish() {
	b.t.Helper()
	s, err := b.state()
	if err != nil {
		b.t.Fatal(err)
	}
	out, code := b.run("agentform", "destroy", "--auto-approve")
	if code != 0 || len(b.containers("-a")) > 0 {
		b.t.Errorf("destroy ended with %d, and there are %v:\n%s", code, b.containers("-a"), out)
	}
	left, err := b.docker("volume", "ls", "--quiet", "--filter", "label=agentform.project="+s.Lineage)
	if volumes := strings.Fields(left); err != nil || len(volumes) != 1 || !strings.Contains(left, "docs") {
		b.t.Errorf("the volumes are %q, want that of docs: %v\n%s", left, err, out)
	}
}
