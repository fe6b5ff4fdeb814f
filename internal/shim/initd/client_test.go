package initd

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/shim"
	"github.com/agentform/agentform/internal/shim/rundir"
)

// keeping serves an init as its program does, and returns a client.
func keeping(t *testing.T) shim.Init {
	t.Helper()
	dir := short(t)
	l, err := shim.Listen(filepath.Join(dir, shim.InitSocket))
	if err != nil {
		t.Fatal(err)
	}
	k := &container{folder: dir, own: map[int]bool{}}
	k.terminal.init = k
	s := shim.Serve(l, shim.InitLineLimit, k.answer)
	t.Cleanup(s.Close)
	return shim.Init{Dir: dir}
}

// An invalid request is refused, and the next one is answered.
func TestInitRefusesWhatIsNoRequest(t *testing.T) {
	k := keeping(t)
	conn, err := net.Dial("unix", filepath.Join(k.Dir, shim.InitSocket))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	for _, line := range []string{
		"", "\x00\xff", "null", "[]", `"look"`, `{"op":7}`, `{"op":"dance"}`, `{}`, `{"op":"tmux","args":{}}`, `{"op":"end","grace_ns":1e99}`,
		`{"op":"secrets"}`, `{"op":"secrets","run":"another"}`, `{"op":"begin","run_dir":"/nowhere"}`, strings.Repeat("[", 100_000),
	} {
		if _, err := io.WriteString(conn, line+"\n"); err != nil {
			t.Fatalf("%.40q: %v", line, err)
		}
		said, err := answers.ReadBytes('\n')
		if err != nil {
			t.Fatalf("%.40q: %v", line, err)
		}
		var r shim.InitReply
		if err := json.Unmarshal(said, &r); err != nil || r.OK || r.Error == nil || len(said) > 1000 {
			t.Errorf("%.40q is answered %.200q", line, said)
		}
	}
	if v, err := k.Hello(t.Context()); err != nil || v != rundir.Version {
		t.Errorf("after that it says %d, %v", v, err)
	}
}

// short returns a directory with a short path: a unix socket's may have 107 bytes.
func short(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
