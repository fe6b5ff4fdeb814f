package program

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// OutOfMemory is the Detail of an exit by SIGKILL that the kernel sent, as far as its
// count tells.
const OutOfMemory = "out of memory"

// memoryEvents are where a container sees what the kernel did to it for want of memory,
// by the version of its control groups. On the machine itself they are all's, or not there.
var memoryEvents = []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"}

// oomKills is how many processes of this container the kernel has killed for want of
// memory, by the first of these files that is there; 0 where it cannot be told.
func oomKills(files []string) uint64 {
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if n, is := strings.CutPrefix(lines.Text(), "oom_kill "); is {
				killed, _ := strconv.ParseUint(n, 10, 64) // the kernel wrote it
				return killed
			}
		}
		return 0
	}
	return 0
}
