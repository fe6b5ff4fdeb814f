//go:build real

package proc

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
)

// To another user the kernel shows a clean exit, which is not reliable.
func TestCorpseOfAnother(t *testing.T) {
	if os.Getenv("CORPSE") != "" {
		var dead Process
		if err := json.Unmarshal([]byte(os.Getenv("CORPSE")), &dead); err != nil {
			t.Fatal(err)
		}
		if code, signal, ok := ZombieExit(dead); ok {
			t.Errorf("it is believed: %d, %q", code, signal)
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Log("only root can be somebody else")
		return
	}
	cmd := exec.Command("sh", "-c", "exit 7")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := Process{PID: cmd.Process.Pid}
	dead.Start, _ = StartTime(dead.PID)
	wait.For(t, "it is dead", func() (any, bool) { return dead, !dead.Alive() })
	if code, _, ok := ZombieExit(dead); !ok || code != 7 {
		t.Errorf("to root it is %d, %v", code, ok)
	}
	if _, _, ok := ZombieExit(Process{dead.PID, dead.Start + 1}); ok {
		t.Error("another process that had its number is taken for it")
	}
	other := func(env string, argv ...string) ([]byte, error) {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir, c.Env = "/", []string{"PATH=/usr/bin:/bin", env}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return c.CombinedOutput()
	}
	stat, err := other("A=1", "cat", procPath(dead.PID, "stat"))
	if code, _, ok := ParseZombieExit(stat); err != nil || !ok || code != 0 {
		t.Errorf("this fact has moved: the kernel shows another %d, %v, %v", code, ok, err)
	}
	text, err := json.Marshal(dead)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := other("CORPSE="+string(text), readable(t), "-test.run=^TestCorpseOfAnother$"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	_ = cmd.Wait()
}

// readable returns the path of this test's program where every user can execute it.
func readable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "af")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "shim.test")
	executable.Write(t, path, text, 0o755)
	return path
}
