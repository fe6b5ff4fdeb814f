package forge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/environ"
)

// standIn answers as gh and glab do: from a file for each path, with 304 where its ETag is known.
const standIn = `#!/bin/sh
by=${0##*/} known=
for last; do
	case $last in "If-None-Match: "*) known=${last#If-None-Match: } ;; esac
done
case $* in *after=next*) last=$last-next ;; esac
file=$ANSWERS/$(printf %s "$last" | tr '/?&=.%' '______')
echo "$last${known:+ $known}" >>"$ANSWERS/calls"
if test ! -e "$file"; then
	printf 'HTTP/2.0 404 Not Found\nContent-Type: application/json\r\n\r\n{"message":"Not Found"}'
	echo "$by: Not Found (HTTP 404)" >&2
	exit 1
fi
if test -n "$known" && grep -q "^Etag: $known" "$file"; then
	printf 'HTTP/2.0 304 Not Modified\nEtag: %s\r\nX-Ratelimit-Limit: 5000\r\nX-Ratelimit-Remaining: 4000\r\nX-Ratelimit-Reset: 9999999999\r\n\r\n' "$known"
	echo "$by: HTTP 304" >&2
	exit 1
fi
cat "$file"
if ! head -n 1 "$file" | grep -q ' 200 \|^line'; then
	echo "$by: refused" >&2
	exit 1
fi
`

// room has stand-ins for gh and glab, and what they answer.
type room struct {
	t   *testing.T
	dir string
	now time.Time
}

func newRoom(t *testing.T) *room {
	r := &room{t, t.TempDir(), time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
	for _, name := range []string{"gh", "glab"} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(standIn), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *room) tool() *Tool {
	return NewTool(environ.Vars{"PATH=" + r.dir + ":" + os.Getenv("PATH"), "ANSWERS=" + r.dir}, func() time.Time { return r.now })
}

func (r *room) reader(remote string) *Reader {
	x, err := NewReader(r.tool(), PlaceOf(remote), "agents/api")
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

// raw sets what is printed for a path.
func (r *room) raw(path, text string) {
	name := strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "_", ".", "_", "%", "_").Replace(path)
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// answers sets the answer to a path.
func (r *room) answers(path, etag, body string) {
	r.raw(path, fmt.Sprintf("HTTP/2.0 200 OK\nContent-Type: application/json\r\nEtag: %s\r\nX-Ratelimit-Limit: 5000\r\nX-Ratelimit-Remaining: 4000\r\nX-Ratelimit-Reset: 9999999999\r\n\r\n%s", etag, body))
}

// calls returns the paths that were asked for since the last time, with the ETag that was known.
func (r *room) calls() []string {
	file := filepath.Join(r.dir, "calls")
	text, _ := os.ReadFile(file)
	_ = os.Remove(file)
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(text)), " ", "#"))
}
