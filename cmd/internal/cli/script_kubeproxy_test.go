//go:build real && kubernetes

package cli_test

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/test/kubetest"
)

// proxies are the scripts' proxies before the API server, by their kubeconfigs.
var proxies sync.Map

// requested returns a call that a proxy has counted as what it asks for: LIST pods, GET log,
// POST exec.
func requested(call string) string {
	fields := strings.Fields(call) // a method, a resource and options
	method, names := fields[0], strings.Split(fields[1], "/")
	switch {
	case method == http.MethodGet && len(names) == 1:
		return "LIST " + names[0]
	case method == http.MethodGet && len(names) == 2:
		return "GET " + names[0]
	}
	return method + " " + names[len(names)-1]
}

// kuberequests [FILE]: what was asked since the last time, sorted and counted, is as in the
// file; without one it is forgotten.
func kuberequests(ts *testscript.TestScript, neg bool, args []string) {
	proxy, ok := proxies.Load(ts.Getenv("KUBECONFIG"))
	if !ok || neg || len(args) > 1 {
		ts.Fatalf("usage: kuberequests [FILE], after kubeproxy")
	}
	count := map[string]int{}
	for call, n := range proxy.(*kubetest.Proxy).Calls() {
		count[requested(call)] += n
	}
	proxy.(*kubetest.Proxy).Expect(kubetest.Fault{}) // forgets them
	var got strings.Builder
	for _, what := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&got, "%d %s\n", count[what], what)
	}
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
		"kuberequests": kuberequests, "kubectl": kubectl,
		// kubeproxy: from now on agentform reaches the API server through a proxy that counts.
		"kubeproxy": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 0 {
				ts.Fatalf("usage: kubeproxy")
			}
			proxy := cluster.Proxy(t)
			proxies.Store(proxy.Kubeconfig, proxy)
			ts.Setenv("KUBECONFIG", proxy.Kubeconfig)
		},
		"gitserver": gitServer(t, func(*testscript.TestScript) string { return cluster.Host(t) }),
		// suspendcluster is SIGSTOP of the API server, resumecluster is SIGCONT.
		"suspendcluster": func(*testscript.TestScript, bool, []string) { cluster.Suspend(t, "apiserver") },
		"resumecluster":  func(*testscript.TestScript, bool, []string) { cluster.Resume(t, "apiserver") },
		// press FILE, relieve FILE: the node's memory is below the kubelet's threshold from then on, and
		// above it.
		"press":   onNode(func(node string) { cluster.Press(t, node) }),
		"relieve": onNode(func(node string) { cluster.Relieve(t, node) }),
	})
	return all
}

// onNode is a command that takes a file with the name of a node.
func onNode(do func(node string)) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: press|relieve FILE")
		}
		do(strings.TrimSpace(ts.ReadFile(args[0])))
	}
}
