package sessionfile

import (
	"os"
	"strconv"
	"strings"

	"github.com/agentform/agentform/internal/proc"
	"github.com/agentform/agentform/session"
)

// treeLimit is how many processes of an agent are searched for open files.
const treeLimit = 64

const writable = 0o200

// openFiles returns the paths of the session files, and of their locks, that an agent's process
// tree has open for writing. (Gemini CLI opens those of all conversations for reading when it
// resumes one.) Processes of another user or container show none.
func openFiles(root session.Process) map[string]bool {
	if start, lives := proc.StartTime(root.PID); !lives || start != root.Start {
		return nil
	}
	open := map[string]bool{}
	queue := []int{root.PID}
	for n := 0; n < len(queue) && n < treeLimit; n++ {
		proc := "/proc/" + strconv.Itoa(queue[n])
		fds, _ := os.ReadDir(proc + "/fd") // it may have ended meanwhile
		for _, fd := range fds {
			path, err := os.Readlink(proc + "/fd/" + fd.Name())
			if err != nil || !strings.HasPrefix(path, "/") || !strings.Contains(path, ".json") && !strings.HasSuffix(path, lockSuffix) {
				continue
			}
			if info, err := fd.Info(); err == nil && info.Mode()&writable != 0 {
				open[path] = true
			}
		}
		tasks, _ := os.ReadDir(proc + "/task")
		for _, task := range tasks {
			children, _ := os.ReadFile(proc + "/task/" + task.Name() + "/children")
			for pid := range strings.FieldsSeq(string(children)) {
				if child, err := strconv.Atoi(pid); err == nil {
					queue = append(queue, child)
				}
			}
		}
	}
	return open
}
