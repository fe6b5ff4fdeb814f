//go:build kubernetes

package cli_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/kubeclient"
	"github.com/agentform/agentform/internal/test/gitserver"
	"github.com/agentform/agentform/internal/test/kubetest"
)

// kubeRequests counts the requests to an API server by what they ask for: LIST pods, GET
// log, exec.
type kubeRequests struct {
	mu    sync.Mutex
	count map[string]int
}

func (k *kubeRequests) add(q *http.Request) {
	what := q.Method + " " + path.Base(q.URL.Path)
	if parts := strings.Split(q.URL.Path, "/namespaces/"); len(parts) == 2 && q.Method == http.MethodGet {
		switch names := strings.Split(parts[1], "/"); len(names) {
		case 2:
			what = "LIST " + names[1]
		case 3:
			what = "GET " + names[1]
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.count[what]++
}

// proxies are those of the scripts, by their kubeconfig.
var proxies sync.Map

// kubeproxy: from now on agentform reaches the API server through a proxy that counts.
func kubeproxy(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: kubeproxy")
	}
	config, _, err := kubeclient.Config(kubeclient.Settings{Kubeconfig: ts.Getenv("KUBECONFIG")})
	ts.Check(err)
	server, err := url.Parse(config.Host)
	ts.Check(err)
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if len(config.CertData) == 0 {
		pair, err = tls.LoadX509KeyPair(config.CertFile, config.KeyFile)
	}
	ts.Check(err)
	ca := config.CAData
	if len(ca) == 0 {
		ca, err = os.ReadFile(config.CAFile)
		ts.Check(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	seen := &kubeRequests{count: map[string]int{}}
	forward := httputil.NewSingleHostReverseProxy(server)
	forward.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, ServerName: config.ServerName}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		seen.add(q)
		forward.ServeHTTP(w, q)
	}))
	ts.Defer(s.Close)
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "proxy",
		"clusters": []any{map[string]any{"name": "proxy", "cluster": map[string]any{"server": s.URL}}},
		"users":    []any{map[string]any{"name": "proxy", "user": map[string]any{}}},
		"contexts": []any{map[string]any{"name": "proxy", "context": map[string]any{"cluster": "proxy", "user": "proxy"}}},
	})
	ts.Check(err)
	file := filepath.Join(ts.Getenv("SHORT"), "proxy.json")
	ts.Check(os.WriteFile(file, text, 0o600))
	ts.Setenv("KUBECONFIG", file)
	proxies.Store(file, seen)
}

// kuberequests [FILE]: what was asked since the last time, sorted and counted, is as in the
// file; without one it is forgotten.
func kuberequests(ts *testscript.TestScript, neg bool, args []string) {
	seen, ok := proxies.Load(ts.Getenv("KUBECONFIG"))
	if !ok || neg || len(args) > 1 {
		ts.Fatalf("usage: kuberequests [FILE], after kubeproxy")
	}
	k := seen.(*kubeRequests)
	k.mu.Lock()
	defer k.mu.Unlock()
	var got strings.Builder
	for _, what := range slices.Sorted(maps.Keys(k.count)) {
		fmt.Fprintf(&got, "%d %s\n", k.count[what], what)
	}
	k.count = map[string]int{}
	if len(args) == 1 && got.String() != ts.ReadFile(args[0]) {
		ts.Fatalf("the API server was asked:\n%s", got.String())
	}
}

// kubectl ARGS...: as an administrator, in the script's namespace.
func kubectl(ts *testscript.TestScript, neg bool, args []string) {
	program, err := os.Readlink(filepath.Join(ts.Getenv("AGENTFORM_KUBE"), "kube"))
	ts.Check(err)
	err = ts.Exec(program, append([]string{"kubectl", "--kubeconfig", filepath.Join(ts.Getenv("AGENTFORM_KUBE"), "kubeconfig"),
		"--namespace", ts.Getenv("AGENTFORM_VAR_namespace")}, args...)...)
	if (err != nil) != neg {
		ts.Fatalf("kubectl %s: %v", strings.Join(args, " "), err)
	}
}

// clusterCommands are what scripts on a cluster can say.
func clusterCommands(t *testing.T, cluster kubetest.Cluster) map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	all := maps.Clone(commands)
	maps.Copy(all, map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"kubeproxy": kubeproxy, "kuberequests": kuberequests, "kubectl": kubectl,
		// gitserver PASSWORD: a server that pods reach; AGENTFORM_VAR_url and GITDIR are of
		// its repository.
		"gitserver": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 1 {
				ts.Fatalf("usage: gitserver PASSWORD")
			}
			s := gitserver.Start(t, cluster.Host(t), args[0])
			ts.Setenv("AGENTFORM_VAR_url", s.URL)
			ts.Setenv("GITDIR", s.Dir)
		},
	})
	return all
}
