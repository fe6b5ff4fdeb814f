//go:build kubernetes

// Package page_test prepares what the tests of the page elsewhere need, and runs them.
package page_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/kubetest"
)

func TestTerminalsElsewhere(t *testing.T) {
	cluster := kubetest.Open(t)
	chromium := os.Getenv("CHROMIUM")
	if chromium == "" {
		chromium = "chromium"
	}
	chromium, err := exec.LookPath(chromium)
	if err != nil {
		t.Fatalf("%v: apt-get install chromium, or set CHROMIUM", err)
	}
	bin := t.TempDir()
	run := func(env []string, argv ...string) {
		t.Helper()
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = append(os.Environ(), env...)
		out, err := c.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Fatalf("%v: %v", argv, err)
		}
	}
	run([]string{"CGO_ENABLED=0"}, "go", "build", "-o", bin, "github.com/agentform/agentform/cmd/agentform", "github.com/agentform/agentform/cmd/agentform-shim")
	run(nil, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent")
	image, err := dockertest.Build(dockertest.Programs()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	layer, err := dockertest.Layer(dockertest.Programs()...)
	if err != nil {
		t.Fatal(err)
	}
	const podImage = "localhost/agentform-page:1"
	archive, err := kubetest.Archive(podImage, layer, map[string]any{"Env": dockertest.Variables})
	if err != nil {
		t.Fatal(err)
	}
	cluster.Import(t, archive)
	run([]string{"BIN=" + bin, "CHROMIUM=" + chromium, "KUBECONFIG=" + cluster.Kubeconfig(), "NAMESPACE=" + cluster.Namespace(t),
		"DOCKER_IMAGE=" + image, "POD_IMAGE=" + podImage}, "node", "--test", filepath.Join(".", "elsewhere.test.mjs"))
}
