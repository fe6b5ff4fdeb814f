package contained

import (
	"bytes"
	"strings"
	"sync"
)

// InDir returns the command line that runs a command in a directory.
func InDir(dir string, argv ...string) []string {
	return append([]string{"sh", "-c", `cd "$1" && shift && exec "$@"`, "sh", dir}, argv...)
}

// Tail keeps the end of what is written to it.
type Tail struct {
	Limit int // in bytes
	mu    sync.Mutex
	kept  bytes.Buffer
}

// Write keeps the end of the text.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Write(p)
	t.kept.Next(max(0, t.kept.Len()-t.Limit))
	return len(p), nil
}

// String returns what is kept, as valid UTF-8.
func (t *Tail) String() string { return strings.ToValidUTF8(t.kept.String(), "") }
