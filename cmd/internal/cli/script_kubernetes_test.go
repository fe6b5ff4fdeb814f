//go:build real && kubernetes

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/kubetest"
)

// TestClusterScripts runs what reads like a session at the terminal on a real cluster.
func TestClusterScripts(t *testing.T) { clusterScripts(t, "kubernetes") }

// TestNodePressure runs the scripts in which a node has no memory for its pods. It disturbs
// all other tests on the cluster.
func TestNodePressure(t *testing.T) { clusterScripts(t, "pressure") }

// TestServerSuspended runs the scripts in which the API server does not answer.
func TestServerSuspended(t *testing.T) { clusterScripts(t, "suspended") }

// clusterScripts runs the scripts in a directory on a real cluster. Each has a namespace of its
// own.
func clusterScripts(t *testing.T, dir string) {
	cluster := kubetest.Open(t)
	self, err := exec.LookPath("agentform")
	if err != nil {
		t.Fatal(err)
	}
	bin, err := os.MkdirTemp("/var/tmp", "af") // pods have a /tmp of their own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(bin)
	fake, err := os.ReadFile(filepath.Join(filepath.Dir(self), "fakeagent"))
	if err != nil {
		t.Fatal(err)
	}
	executable.Write(t, filepath.Join(bin, "fakeagent"), fake, 0o755)
	if err := os.Chmod(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	layer, err := dockertest.Layer(append(dockertest.Programs(), filepath.Join(bin, "fakeagent"), gitHTTP(t))...)
	if err != nil {
		t.Fatal(err)
	}
	const image = "localhost/agentform-scripts:1"
	archive, err := kubetest.Archive(image, layer, map[string]any{"Env": dockertest.Variables})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Import(t, archive)
	examples, err := filepath.Abs("../../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script", dir),
		Setup: func(e *testscript.Env) error {
			e.Setenv("KUBECONFIG", cluster.Kubeconfig())
			e.Setenv("AGENTFORM_KUBE", cluster.Dir())
			namespace := cluster.Namespace(t)
			e.Setenv("AGENTFORM_VAR_namespace", namespace)
			e.Setenv("AGENTFORM_KUBERNETES_NAMESPACE", namespace)
			e.Setenv("AGENTFORM_VAR_image", image)
			e.Setenv("AGENTFORM_VAR_bin", bin)
			e.Setenv("EXAMPLES", examples)
			return setup(e, filepath.Dir(self))
		},
		Cmds:               clusterCommands(t, cluster),
		RequireUniqueNames: true,
	})
}
