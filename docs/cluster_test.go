//go:build real && kubernetes

package docs_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentform/agentform/api"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/gitserver"
	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/internal/test/wait"
)

// TestClusterDocuments runs each document of onCluster on a real cluster, from its first block to
// its last, in the namespace that it names, one document at a time. Only what a reader changes,
// too, is changed: the registry, the version and the git server.
func TestClusterDocuments(t *testing.T) {
	cluster := kubetest.Open(t)
	bin := build(t)
	program, err := os.Readlink(filepath.Join(cluster.Dir(), "kube"))
	if err != nil {
		t.Fatal(err)
	}
	executable.Write(t, filepath.Join(bin, "kubectl"), fmt.Appendf(nil, "#!/bin/sh\nexec %s kubectl --kubeconfig %s \"$@\"\n", program, cluster.Kubeconfig()), 0o755)
	importAgents(t, cluster)
	follow := map[string]func(*testing.T, kubetest.Cluster, *world, func()){"kubernetes.md": followKubernetes, "hub.md": followHub}
	var namespace sync.Mutex
	for _, path := range onCluster {
		t.Run(path, func(t *testing.T) {
			t.Parallel() // make image takes as long as all of kubernetes.md
			w := newWorld(t, bin)
			w.patience = 5 * time.Minute // make image builds all programs
			w.env = append(w.env, "KUBECONFIG="+cluster.Kubeconfig(), "ANTHROPIC_API_KEY=dummy")
			follow[path](t, cluster, w, func() {
				namespace.Lock()
				t.Cleanup(func() {
					defer namespace.Unlock()
					if t.Failed() {
						out, _ := cluster.TryKubectl("", "get", "events,pods,pvc", "--namespace", "agents")
						t.Log(out)
					}
					cluster.Kubectl(t, "delete", "namespace", "agents", "--ignore-not-found", "--wait=false")
				})
				wait.For(t, "no namespace agents is left", func() (any, bool) {
					out, err := cluster.TryKubectl("", "get", "namespace", "agents", "--ignore-not-found")
					return []any{out, err}, err == nil && out == ""
				})
			})
		})
	}
}

// registry is what a reader writes for registry.example. The nodes have its images already, as
// no registry is in the cluster.
const registry = "localhost"

// importAgents gives the nodes the image of sessions, whose claude is the one of testdata.
func importAgents(t *testing.T, cluster kubetest.Cluster) {
	t.Helper()
	bin, err := os.MkdirTemp("/var/tmp", "afd") // pods have a /tmp of their own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(bin) })
	agent, err := os.ReadFile("testdata/agent.sh")
	if err != nil {
		t.Fatal(err)
	}
	claude := filepath.Join(bin, "claude")
	executable.Write(t, claude, agent, 0o755)
	core, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := dockertest.Layer(append(dockertest.Programs(), "expr", "grep", claude, filepath.Join(strings.TrimSpace(string(core)), "git-remote-http"))...)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := kubetest.Archive(registry+"/agents:1", layer, map[string]any{"Env": append(slices.Clone(dockertest.Variables), "PATH="+bin+":/usr/bin:/bin")})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Import(t, archive)
}

// read returns the blocks of a document with what a reader writes for words of it, which are
// given in pairs.
func read(t *testing.T, path string, words ...string) []block {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(words); i += 2 {
		if !strings.Contains(string(text), words[i]) {
			t.Fatalf("%s does not have %s", path, words[i])
		}
	}
	return blocks(t, path, strings.NewReplacer(words...).Replace(string(text)))
}

// in returns the world with another directory in which commands run.
func (w *world) in(dir string) *world {
	other := *w
	other.repo = filepath.Join(filepath.Dir(w.repo), dir)
	return &other
}

// sessions are what a reader adds to the manifests of kubernetes.md that have no session, and
// what is then so. Each manifest is a project in a directory of its own, without a repository.
var sessions = []struct{ manifest, name, added, check string }{
	{`"proxied" {`, "proxied", plain("proxied", "proxied", ""),
		`agentform exec proxied -- sh -c 'grep -q "^10.20.0.5.*artifacts" /etc/hosts && test "$HTTPS_PROXY" = http://proxy:3128'`},
	{`"GH_TOKEN" {`, "tokens", `
runtime "kubernetes" "team" {
  namespace = "agents"
  image     = "` + registry + `/agents:1"
}
` + plain("tokens", "team", `secrets = ["GH_TOKEN"]`),
		`agentform exec tokens -- sh -c 'test "$GH_TOKEN" = token-of-github'`},
	{`session "shop" {`, "clone", "",
		`agentform exec shop -- sh -c 'git log -1 --format=%s | grep -qx "on develop" && git push --quiet && grep -q . /run/agentform-repo/password'`},
	{`"limited" {`, "limited", plain("limited", "limited", ""),
		`kubectl get networkpolicy --namespace agents --output 'jsonpath={..cidr} {..port} {..namespaceSelector.matchLabels}' | grep '10.20.0.0/16.*10.30.0.7/32.*8443.*3128.*proxies'`},
}

// plain returns the block of a session without a repository in a runtime.
func plain(name, runtime, more string) string {
	return fmt.Sprintf(`
session "%s" {
  agent   = "claude"
  runtime = runtime.kubernetes.%s
  %s
  workspace {
    mode = "plain"
  }
}
`, name, runtime, more)
}

// followKubernetes applies each manifest of kubernetes.md with the account that its first commands
// make, and runs its commands.
func followKubernetes(t *testing.T, cluster kubetest.Cluster, w *world, useNamespace func()) {
	useNamespace()
	server := gitserver.Start(t, cluster.Host(t), "token-of-git")
	work := filepath.Join(t.TempDir(), "work")
	gitserver.Git(t, ".", "clone", "--quiet", server.Dir, work)
	gitserver.Git(t, work, "commit", "--quiet", "--allow-empty", "-m", "on develop")
	gitserver.Git(t, work, "push", "--quiet", "origin", "HEAD:develop")
	// The server has no certificate that the image knows: http instead of https.
	doc := read(t, "kubernetes.md", "registry.example", registry, "https://git.example/shop.git", server.URL)

	w.env = append(w.env, "KUBECONFIG="+accountOf(t, cluster))
	applied := 0
	for i, b := range doc {
		switch {
		case b.lang == "console":
			b.info = ""
			b.play(t, w)
			if i == 0 { // the namespace is there
				w.must(t, "kubectl", "create", "secret", "generic", "tokens", "--namespace", "agents", "--from-literal=github=token-of-github", "--from-literal=git=token-of-git")
				w.must(t, "kubectl", "create", "priorityclass", "agents", "--value", "1")
				t.Cleanup(func() { cluster.Kubectl(t, "delete", "priorityclass", "agents") })
			}
		case b.info == "fragment": // cmd/internal/cli/testdata/script/kubernetes/edited.txtar has it
		case b.lang == "hcl" && strings.Contains(b.text(), `session "api" {`):
			w.write(t, "agentform.hcl", b.text())
			w.must(t, "agentform", "apply", "--auto-approve", "--wait")
			w.must(t, "agentform", "plan", "--detailed-exitcode")
		case b.lang == "hcl":
			at := slices.IndexFunc(sessions, func(s struct{ manifest, name, added, check string }) bool {
				return strings.Contains(b.text(), s.manifest)
			})
			if at < 0 {
				t.Errorf("%s: no session has this manifest", b.at)
				continue
			}
			s := sessions[at]
			project := w.in(s.name)
			project.write(t, "agentform.hcl", b.text()+s.added)
			project.must(t, "agentform", "apply", "--auto-approve", "--wait")
			project.must(t, "sh", "-c", s.check)
			applied++
		default:
			t.Errorf("%s: this block is not run", b.at)
		}
	}
	if applied != len(sessions) {
		t.Errorf("%d manifests of %d are in the document", applied, len(sessions))
	}
	wait.For(t, "the budget protects the pods", func() (any, bool) {
		out, err := cluster.TryKubectl("", "get", "poddisruptionbudget", "agents", "--namespace", "agents", "--output", "jsonpath={.status.currentHealthy} {.status.disruptionsAllowed}")
		return []any{out, err}, err == nil && regexp.MustCompile(`^[1-9]\d* 0$`).MatchString(out)
	})
	w.must(t, "agentform", "apply", "--auto-approve") // what was changed is put back
	w.must(t, "agentform", "plan", "--detailed-exitcode")
	w.must(t, "agentform", "destroy", "--auto-approve")
}

// accountOf returns the path of a kubeconfig that impersonates the account of kubernetes.md, and
// has its namespace.
func accountOf(t *testing.T, cluster kubetest.Cluster) string {
	t.Helper()
	text, err := os.ReadFile(cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	part := func(list, name string) map[string]any {
		return config[list].([]any)[0].(map[string]any)[name].(map[string]any)
	}
	part("users", "user")["as"] = "system:serviceaccount:agents:agentform"
	part("contexts", "context")["namespace"] = "agents"
	text, err = json.Marshal(config)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

// followHub deploys the hub as hub.md says, in a clone of this repository. The hub starts the
// agent of a session again that another machine applied.
func followHub(t *testing.T, cluster kubetest.Cluster, w *world, useNamespace func()) {
	source := w.in("agentform")
	source.env = append(source.env, goEnv(t)...)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	w.must(t, "git", "clone", "--quiet", root, source.repo)
	if err := errors.Join(os.RemoveAll(filepath.Join(source.repo, "deploy")), os.CopyFS(filepath.Join(source.repo, "deploy"), os.DirFS("../deploy"))); err != nil {
		t.Fatal(err)
	}
	version, code := source.sh("git describe --tags --always --dirty")
	if code != 0 {
		t.Fatal(version)
	}
	forwarded := ""
	for _, b := range read(t, "hub.md", "registry.example", registry, "VERSION", strings.TrimSpace(version)) {
		file, named := strings.CutPrefix(b.lines[0], "# overlay/")
		switch {
		case b.lang == "yaml" && named:
			source.write(t, "overlay/"+file, b.text())
		case b.lang == "hcl" && b.info == "overlay/agentform.hcl":
			useNamespace()
			w.must(t, "kubectl", "create", "namespace", "agents") // as kubernetes.md says
			source.write(t, b.info, b.text())
			w.write(t, "agentform.hcl", b.text()+`
session "api" {
  agent   = "claude"
  branch  = "agents/api"
  runtime = runtime.kubernetes.team
}
`)
			w.must(t, "agentform", "apply", "--auto-approve", "--wait")
		case b.lang == "console" && b.info == "cluster":
			for _, c := range b.commands(t) {
				image, pushes := strings.CutPrefix(c.line, "docker push ")
				switch {
				case pushes: // no registry is in the cluster: the nodes get the image
					save(t, cluster, source, image)
				case strings.HasPrefix(c.line, "kubectl port-forward "):
					forwarded = forward(t, source, c.line)
				default:
					source.run(t, b, c)
				}
			}
		}
	}
	if forwarded == "" {
		t.Fatal("no command of hub.md reaches the hub")
	}
	token, code := w.sh("kubectl get secret agentform-hub --namespace agents --output 'jsonpath={.data.token}' | base64 -d")
	if code != 0 {
		t.Fatal(token)
	}
	ask := func(path string, answer any) error {
		q, err := http.NewRequest("GET", forwarded+path, nil)
		if err != nil {
			return err
		}
		if path != "/readyz" { // which needs no token
			q.Header.Set("Authorization", "Bearer "+token)
		}
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err == nil && a.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", a.Status, text)
		}
		return errors.Join(err, json.Unmarshal(text, answer))
	}
	wait.For(t, "the hub is ready", func() (any, bool) {
		var health api.Health
		err := ask("/readyz", &health)
		return []any{health, err}, err == nil && (health.Status == "ok" || health.Status == "following")
	})
	restarts := func(want int) func() (any, bool) {
		return func() (any, bool) {
			var status api.StatusDocument
			err := ask("/v1/sessions", &status)
			if err != nil || len(status.Sessions) != 1 {
				return []any{status, err}, false
			}
			s := status.Sessions[0]
			return fmt.Sprintf("%s %s %d: %s", s.Address, s.Word, s.Restarts, s.Why), s.Restarts == want && s.Status == "running"
		}
	}
	wait.For(t, "the hub knows the session", restarts(0))
	w.must(t, "kubectl", "exec", "shop-api-5e897c-0", "--namespace", "agents", "--", "sh", "-c", `for p in /proc/[0-9]*; do read name <$p/comm; test "$name" != claude || kill -KILL ${p#/proc/}; done`)
	wait.For(t, "the hub starts the agent again", restarts(1))
	wait.For(t, "the hub has recorded the end of the restart", func() (any, bool) {
		out, code := w.sh("agentform plan --detailed-exitcode")
		return out, code == 0
	})
}

// save gives the nodes an image of the engine.
func save(t *testing.T, cluster kubetest.Cluster, w *world, image string) {
	t.Helper()
	t.Cleanup(func() {
		if out, code := w.sh("docker rmi " + image + " " + strings.TrimPrefix(image, registry+"/")); code != 0 {
			t.Error(out)
		}
	})
	w.must(t, "docker", "save", "--output", "image.tar", image)
	archive, err := os.ReadFile(filepath.Join(w.repo, "image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	cluster.Import(t, archive)
}

// forward runs the command that forwards a port until the test ends, and returns the URL of the
// port. The port of this machine is one that is free, as another test may have the document's.
func forward(t *testing.T, w *world, line string) string {
	t.Helper()
	command, ok := strings.CutSuffix(line, " 7171")
	if !ok {
		t.Fatalf("%s: not the port 7171", line)
	}
	c := exec.Command("sh", "-c", "exec "+command+" :7171")
	c.Dir, c.Env = w.repo, w.env
	var failed strings.Builder
	c.Stderr = &failed
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // killed
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`^Forwarding from (127\.0\.0\.1:\d+) -> 7171\n`).FindStringSubmatch(said)
	if m == nil {
		_ = c.Wait()
		t.Fatalf("%s: %v: %s%s", line, err, said, failed.String())
	}
	return "http://" + m[1]
}

// goEnv returns the environment in which go finds what it has built already.
func goEnv(t *testing.T) (env []string) {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOTOOLCHAIN"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, value := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env
}
