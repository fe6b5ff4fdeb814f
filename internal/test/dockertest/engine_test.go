//go:build real

package dockertest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/dockertest"
)

// An engine of its own has what it was given, also after it was killed, and leaves
// nothing behind.
func TestEngine(t *testing.T) {
	image, err := dockertest.Build("sh", "sleep")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	e, err := dockertest.StartEngine()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Load(image); err != nil {
		t.Error(err)
	}
	on := func(args ...string) string {
		t.Helper()
		out, err := dockertest.Docker(nil, append([]string{"-H", e.Host()}, args...)...)
		if err != nil {
			t.Error(err)
		}
		return out
	}
	id := on("run", "-d", "--network", "none", image, "sleep", "1000")
	if others, err := dockertest.Docker(nil, "ps", "-aq", "--no-trunc"); err != nil || strings.Contains(others, id) {
		t.Errorf("the container is the machine's engine's: %v", err)
	}
	if err := e.Kill(); err != nil {
		t.Error(err)
	}
	if _, err := dockertest.Docker(nil, "-H", e.Host(), "version"); err == nil {
		t.Error("it answers, and was killed")
	}
	if err := e.Start("--live-restore"); err != nil {
		t.Error(err)
	}
	if running := on("ps", "-q", "--no-trunc"); running != id {
		t.Errorf("%q runs, want %q", running, id)
	}
	if err := e.Kill(); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(strings.TrimPrefix(e.Host(), "unix://"))); !os.IsNotExist(err) {
		t.Errorf("its folder is left: %v", err)
	}
}
