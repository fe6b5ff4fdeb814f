//go:build real

package proc

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/test/wait"
)

func TestLookAtProcesses(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, ok := StartTime(cmd.Process.Pid)
	p := Process{cmd.Process.Pid, start}
	if !ok || !p.Alive() {
		t.Fatalf("%v is not alive", p)
	}
	cmd.Process.Kill()
	wait.For(t, "a zombie does not count as alive", func() (any, bool) { return p, !p.Alive() })
	if _, ok := StartTime(p.PID); !ok {
		t.Error("a zombie is not seen at all")
	}
	cmd.Wait()
	for _, pid := range []int{0, -1, p.PID} {
		if _, ok := StartTime(pid); ok || (Process{pid, 0}).Alive() {
			t.Errorf("process %d is there", pid)
		}
	}
	stat := func(pid, parent int) Stat { return Stat{Process: Process{PID: pid}, Parent: parent} }
	list := []Stat{stat(2, 1), stat(5, 4), stat(3, 2), stat(4, 2), stat(1, 1), stat(9, 8)}
	var got []int
	for _, s := range below(list, 2) {
		got = append(got, s.PID)
	}
	if len(got) != 3 || got[0] != 3 || got[1] != 4 || got[2] != 5 {
		t.Errorf("below 2 is %v", got)
	}
}

// Both ways to find descendants return the same.
func TestDescendantsBothWays(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sh -c 'sleep 60 & wait' & sleep 60 & echo; wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Read(make([]byte, 1))
	var walk, scan []Stat
	wait.For(t, "three processes are below", func() (any, bool) {
		walk, scan = Descendants(cmd.Process.Pid), below(processes(), cmd.Process.Pid)
		return walk, len(walk) >= 3
	})
	if len(walk) != 3 || len(scan) != 3 {
		t.Errorf("walk found %v, scan %v", walk, scan)
	}
	for _, s := range walk {
		syscall.Kill(s.PID, syscall.SIGKILL)
	}
	cmd.Process.Kill()
	cmd.Wait()
}
