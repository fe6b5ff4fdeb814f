package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one that a script started, directly or not.
type process struct {
	pid     int
	command string
}

// processes are those whose environment or command line names the script's own
// folder, which nothing else does. The caller itself does not count.
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

// end ends what was started for a folder, and returns what it could not end.
func end(short string) (left []process) {
	for stop := time.Now().Add(5 * time.Second); time.Now().Before(stop); time.Sleep(20 * time.Millisecond) {
		if left = processes(short); len(left) == 0 {
			return nil
		}
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // gone meanwhile is as well
		}
	}
	return left
}
