//go:build real

package torture

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/session"
)

// engineFaultsInCI is how many faults of the engine are tried when nobody asks for all,
// besides those that once did harm.
const engineFaultsInCI = 2

var engineOnce = []fault{ // the container of a command stayed behind
	{"engine", "POST /containers/create", 1, kindCut},
	{"engine", "DELETE /containers/*", 1, kindError},
}

// TestEngineFaults is TestFaults for Docker: each request of a whole apply to the engine
// fails, in turn and in each way.
func TestEngineFaults(t *testing.T) {
	image, err := dockertest.Build(dockertest.Programs()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	word := make([]byte, 5)
	rand.Read(word) // never fails
	b := &boxes{torture: &torture{project: newProject(t)}, name: "aft" + hex.EncodeToString(word), image: image}
	b.proxy = newProxy(t, b.root)
	b.cleanUp()
	b.manifest(0)
	b.converge()
	b.proxy.expect(fault{})
	b.manifest(1)
	b.converge()
	var all []fault
	for _, op := range slices.Sorted(maps.Keys(b.proxy.operations())) {
		for _, kind := range []string{kindError, kindLate, kindCut, kindHangUp, kindSlow} {
			for nth := range 2 {
				all = append(all, fault{"engine", op, nth + 1, kind})
			}
		}
	}
	seed := number(t, "AGENTFORM_TORTURE_SEED", usualSeed())
	if os.Getenv("AGENTFORM_FAULTS") != "all" {
		r := mathrand.New(mathrand.NewPCG(seed, 2))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = append(slices.Clone(engineOnce), all[:engineFaultsInCI]...)
	}
	t.Logf("%d faults, AGENTFORM_TORTURE_SEED=%d", len(all), seed)
	for n, f := range all {
		began := time.Now()
		b.manifest(n)
		b.proxy.expect(f)
		out, code := b.run("agentform", "apply", "--auto-approve")
		t.Logf("%s: met: %v, exit code %d after %s", f, b.proxy.wasMet(), code, time.Since(began).Round(time.Millisecond))
		b.told(f, b.proxy.wasMet(), out, code)
		b.inspectBoxes()
		b.proxy.expect(fault{})
		if b.converge(); t.Failed() {
			t.Fatalf("with %s; the apply ended with %d:\n%s", f, code, out)
		}
	}
	if out, code := b.run("agentform", "destroy", "--auto-approve"); code != 0 || len(b.containers("-a")) > 0 {
		t.Errorf("destroy ended with %d, and there are %v:\n%s", code, b.containers("-a"), out)
	}
}

// boxes is a project of containers, behind a proxy of the engine.
type boxes struct {
	*torture
	proxy       *proxy
	name, image string
	engine      string   // for the docker command; empty: this machine's
	want        []string // the sessions that are to run
}

// docker runs the docker command.
func (b *boxes) docker(args ...string) (string, error) {
	if b.engine != "" {
		args = append([]string{"-H", b.engine}, args...)
	}
	return dockertest.Docker(nil, args...)
}

// cleanUp removes the containers that are left when the test ends.
func (b *boxes) cleanUp() {
	b.t.Cleanup(func() {
		left := b.containers("-a")
		if s, err := b.state(); err == nil {
			ids, _ := b.docker("ps", "-a", "-q", "--filter", "label=agentform.project="+s.Lineage)
			left = strings.Fields(ids)
		}
		for _, c := range left {
			if _, err := b.docker("rm", "-f", c); err != nil {
				b.t.Error(err)
			}
		}
	})
}

// manifest is one of two in turn: sessions are created, restarted, made anew, paused,
// resumed and removed.
func (b *boxes) manifest(n int) {
	odd := n % 2
	b.want = []string{"api", "mail", []string{"docs", "web"}[odd]}
	text := fmt.Sprintf(`
agentform {
  project     = %q
  max_running = 100
}
agent "idle" {
  command    = ["sleep", "100000"]
  prompt_via = "none"
}
runtime "docker" "box" {
  image   = %q
  network = "none"
  host    = %q
}
`, b.name, b.image, b.proxy.Host)
	for _, s := range b.want {
		more := ""
		switch {
		case s == "api":
			more = fmt.Sprintf("  env = { N = \"%d\" }\n", odd)
		case s == "mail" && odd == 1:
			more = "  desired = \"paused\"\n"
		}
		text += fmt.Sprintf("session %q {\n  agent   = agent.idle\n  runtime = runtime.docker.box\n%s  workspace {\n    mode       = \"plain\"\n    on_destroy = \"remove_clean\"\n  }\n}\n", s, more)
	}
	b.write("agentform.hcl", text)
}

// containers are the project's, by name; those that run, or with -a all.
func (b *boxes) containers(flags ...string) []string {
	b.t.Helper()
	out, err := b.docker(append([]string{"ps", "--filter", "name=^" + b.name + "-", "--format", "{{.Names}}"}, flags...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.Fields(out)
}

// inspectBoxes looks that the state parses and every container that runs is of a session
// on record, one of each.
func (b *boxes) inspectBoxes() {
	b.t.Helper()
	s, err := b.state()
	if err != nil {
		b.t.Fatalf("the state cannot be read: %v", err)
	}
	seen := map[string]bool{}
	for _, c := range b.containers() {
		i := slices.IndexFunc(s.Sessions, func(r session.Record) bool {
			return strings.HasPrefix(c, b.name+"-"+strings.TrimPrefix(string(r.Address), "session.")+"-")
		})
		if i < 0 {
			b.t.Errorf("container %s is of no session on record", c)
			continue
		}
		if a := string(s.Sessions[i].Address); seen[a] {
			b.t.Errorf("%s has two containers that run: %v", a, b.containers())
		} else {
			seen[a] = true
		}
	}
}

// converge is one apply that nobody disturbs.
func (b *boxes) converge() {
	b.t.Helper()
	out, code := b.run("agentform", "apply", "--auto-approve")
	plan, left := b.run("agentform", "plan", "--detailed-exitcode")
	if code != 0 || left != 0 {
		b.t.Fatalf("not converged: the apply ended with %d:\n%s\nand the plan with %d:\n%s", code, out, left, plan)
	}
	b.inspectBoxes()
	s, err := b.state()
	if err != nil {
		b.t.Fatal(err)
	}
	commands, err := b.docker("ps", "-a", "-q", "--filter", "label=agentform.once", "--filter", "label=agentform.project="+s.Lineage)
	if err != nil || commands != "" {
		b.t.Errorf("the containers of commands are left: %s %v", commands, err)
	}
	if n := len(b.containers("-a")); n != len(b.want) {
		b.t.Errorf("not converged: there are %v, want those of %v", b.containers("-a"), b.want)
	}
}
