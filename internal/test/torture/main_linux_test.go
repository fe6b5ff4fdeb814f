//go:build real

package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agentform/agentform/internal/test/fakeagent"
)

// bin is the environment variable that names the directory of the built programs. The
// fake agent in it is a link to this test, as the shims are.
const bin = "TORTURE_BIN"

func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "fakeagent":
		os.Exit(fakeagent.Main())
	case "tmux", "git":
		os.Exit(wrap(os.Args[0], os.Args[1:]))
	}
	os.Exit(withPrograms(m))
}

// withPrograms runs the tests with agentform and its shim, built as they are released.
func withPrograms(m *testing.M) int {
	dir, err := os.MkdirTemp("", "torture")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir, "../../../cmd/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	self, err := os.Executable()
	if err == nil {
		err = build.Run()
	}
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "fakeagent"))
	}
	if err == nil {
		err = os.Setenv(bin, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the programs:", err)
		return 1
	}
	return m.Run()
}
