package git

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// atWork reports whether a process makes the worktree at path: by its command line or its
// working directory.
func atWork(path string) bool {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		if cwd, err := os.Readlink(filepath.Join(p, "cwd")); err == nil && (cwd == path || strings.HasPrefix(cwd, path+"/")) {
			return true
		}
		line, err := os.ReadFile(filepath.Join(p, "cmdline"))
		if err == nil && bytes.Contains(line, []byte("\x00worktree\x00add\x00")) && bytes.Contains(line, []byte("\x00"+path+"\x00")) {
			return true
		}
	}
	return false
}
