package guest

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// To another user the kernel shows a clean exit, which is not to be believed.
func TestCorpseOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can be somebody else")
		return
	}
	cmd := exec.Command("sh", "-c", "exit 7")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dead := Proc{PID: cmd.Process.Pid}
	dead.Start, _ = StartTime(dead.PID)
	for end := time.Now().Add(5 * time.Second); dead.Alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it lives on")
		}
	}
	if code, _, ok := Corpse(dead); !ok || code != 7 {
		t.Errorf("to root it is %d, %v", code, ok)
	}
	other := func(file string) ([]byte, error) {
		cat := exec.Command("cat", proc(dead.PID, file))
		cat.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return cat.Output()
	}
	stat, err := other("stat")
	if code, _, ok := CorpseIn(stat); err != nil || !ok || code != 0 {
		t.Errorf("this fact has moved: the kernel shows another %d, %v, %v", code, ok, err)
	}
	if io, err := other("io"); err == nil {
		t.Errorf("this fact has moved: another may read %q", io)
	}
	_ = cmd.Wait()
}
