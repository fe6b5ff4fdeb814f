//go:build real

package docker_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/client"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/test/dockertest"
)

// TestContexts checks that a context of the docker command leads to an engine. One on another
// machine is refused, since its containers would lack the workspaces.
func TestContexts(t *testing.T) {
	b := newBed(t)
	real, err := dockertest.Docker(nil, "context", "inspect", "-f", "{{.Endpoints.docker.Host}}")
	if err != nil {
		t.Fatal(err)
	}
	settings := t.TempDir()
	for name, host := range map[string]string{"here": real, "far": "tcp://192.0.2.1:2375", "by ssh": "ssh://nobody@192.0.2.1", "empty": ""} {
		sum := sha256.Sum256([]byte(name))
		dir := filepath.Join(settings, "contexts", "meta", hex.EncodeToString(sum[:]))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"Name":%q,"Endpoints":{"docker":{"Host":%q}}}`, name, host)
		if err := os.WriteFile(filepath.Join(dir, "meta.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(settings, "config.json"), []byte(`{"currentContext":"far"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_CONFIG", settings)
	t.Setenv("DOCKER_HOST", "")
	t.Setenv("DOCKER_CONTEXT", "")
	config := b.config
	config.Host = "default"
	machine := docker.New(config)
	defer machine.Close()
	if _, err := machine.Observe(t.Context(), false); err != nil && !strings.Contains(err.Error(), client.DefaultDockerHost) {
		t.Errorf("the context default, which is the machine's engine, if it has one: %v", err)
	}
	for _, c := range []struct{ host, context, want string }{
		{"here", "", ""},
		{real, "", ""},
		{"", "here", ""},
		{"", "", "run agentform on the engine's machine"}, // the docker command's own choice
		{"far", "", "run agentform on the engine's machine"},
		{"by ssh", "", "run agentform on the engine's machine"},
		{"empty", "", "names no engine"},
		{"no such", "", "docker context ls"},
		{"tcp://192.0.2.1:2375", "", "set cert_path, or DOCKER_CERT_PATH"},
		{"npipe:////./pipe/engine", "", `engine "npipe:////./pipe/engine"`},
	} {
		t.Setenv("DOCKER_CONTEXT", c.context)
		config.Host = c.host
		r := docker.New(config)
		_, err := r.Observe(t.Context(), false)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("host %q, context %q: %v, want %q", c.host, c.context, err, c.want)
		}
		r.Close()
	}
}
