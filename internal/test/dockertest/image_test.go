//go:build real

package dockertest_test

import (
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/dockertest"
)

func TestBuild(t *testing.T) {
	image, err := dockertest.Build(dockertest.Programs()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	said, err := dockertest.Docker(nil, "run", "--rm", "--network", "none", image, "sh", "-c", "tmux -V && git --version && echo $IMAGE")
	if err != nil || !strings.HasPrefix(said, "tmux ") || !strings.HasSuffix(said, "\nyes") {
		t.Errorf("%q, %v", said, err)
	}
	if _, err := dockertest.Build("no-such-program"); err == nil {
		t.Error("built without a program")
	}
}
