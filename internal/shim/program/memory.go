package program

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// OutOfMemory is the Detail of an exit by a SIGKILL that the kernel sent, according to its count.
const OutOfMemory = "out of memory"

// memoryEvents are the files in which a container finds its out-of-memory kills, by version of the
// control groups. On the host they count all processes, or do not exist.
var memoryEvents = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}

// oomKills returns how many processes of this container the kernel has killed for lack of memory,
// by the first of the files that exists; 0 if it is unknown.
func oomKills(files []string) uint64 {
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if n, is := strings.CutPrefix(lines.Text(), "oom_kill "); is {
				killed, _ := strconv.ParseUint(n, 10, 64) // written by the kernel
				return killed
			}
		}
		return 0
	}
	return 0
}
