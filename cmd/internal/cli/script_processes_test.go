//go:build real

package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one that a script started, directly or not.
type process struct {
	pid     int
	command string
}

// processes are those whose environment or command line names the script's own
// directory, which nothing else does. The caller itself does not count.
func processes(short string) []process {
	if runtime.GOOS != "linux" {
		return listAddresses(short)
	}
	var found []process
	environs, _ := filepath.Glob("/proc/[0-9]*/environ") // fails only for a bad pattern
	for _, path := range environs {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() || !alive(pid) {
			continue
		}
		env, _ := os.ReadFile(path) // another's, or gone meanwhile: not ours
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if strings.Contains(string(env), short+"/") || strings.Contains(string(command), short+"/") {
			found = append(found, process{pid, strings.ReplaceAll(string(command), "\x00", " ")})
		}
	}
	return found
}

// listAddresses is processes where there is no /proc.
func listAddresses(short string) []process {
	out, _ := exec.Command("ps", "-axEww", "-o", "pid=,command=").Output() // none is none
	var found []process
	for line := range strings.Lines(string(out)) {
		first, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(first)
		if err == nil && pid != os.Getpid() && strings.Contains(command, short+"/") {
			found = append(found, process{pid, command})
		}
	}
	return found
}

// alive reports whether a process lives; a zombie does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// end ends what was started for a directory, and returns what it could not end.
func end(short string) (left []process) {
	for stop := time.Now().Add(time.Minute); time.Now().Before(stop); time.Sleep(20 * time.Millisecond) {
		if left = processes(short); len(left) == 0 {
			return nil
		}
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // gone meanwhile is as well
		}
	}
	return left
}

// endLater makes a process, which outlives the tests, end what a script of theirs started
// in a directory, if they are killed before they call done. It removes the directory.
func endLater(short string) (done func(), err error) {
	to, err := cleaner()
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(to, short); err != nil { // one write: scripts run at the same time
		return nil, err
	}
	return func() { _, _ = fmt.Fprintln(to, short) }, nil // without it, nothing is left to do
}

// cleaner starts that process. Its input ends with the tests.
var cleaner = sync.OnceValues(func() (io.Writer, error) {
	c := exec.Command("endleftovers")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // not killed with their group
	to, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	return to, c.Start()
})

// endLeftovers is what it does: a directory that was named once only is left over.
func endLeftovers() {
	left := map[string]bool{}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		left[in.Text()] = !left[in.Text()]
	}
	for short, is := range left {
		if is {
			end(short)
			_ = os.RemoveAll(short)
		}
	}
}

// Tests that are killed leave no process of their scripts.
func TestLeftoversAreEnded(t *testing.T) {
	t.Parallel()
	c := exec.Command("endleftovers")
	to, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var sleepers []*exec.Cmd
	for range 2 {
		short, err := os.MkdirTemp("/tmp", "af")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end(short); _ = os.RemoveAll(short) })
		sleeper := exec.Command("sleep", "60")
		sleeper.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+filepath.Join(short, "run"))
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		sleepers = append(sleepers, sleeper)
		fmt.Fprintln(to, short)
		if len(sleepers) == 2 { // whose script ended by itself
			fmt.Fprintln(to, short)
		}
	}
	to.Close() // the tests end
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if alive(sleepers[0].Process.Pid) || !alive(sleepers[1].Process.Pid) {
		t.Errorf("left over: alive %v; of a script that ended: alive %v", alive(sleepers[0].Process.Pid), alive(sleepers[1].Process.Pid))
	}
	for _, s := range sleepers {
		_ = s.Process.Kill() // may be gone
		_ = s.Wait()
	}
}
