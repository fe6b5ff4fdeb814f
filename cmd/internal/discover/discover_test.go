//go:build real

package discover

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
)

// place gives the test a directory for tmux's sockets and a program called claude, and ends the
// servers that the test starts.
func place(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "af")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	executable.Write(t, filepath.Join(bin, "claude"), []byte("#!/bin/sh\nsleep 1000\n"), 0o700)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("TMUX_TMPDIR", dir)
	t.Setenv("TMUX", "")
	return dir
}

func tmuxRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-f", "/dev/null"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// server starts a session, and ends its server after the test.
func server(t *testing.T, name string, args ...string) {
	t.Helper()
	tmuxRun(t, slices.Concat([]string{"-L", name, "new-session", "-d"}, args)...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-L", name, "kill-server").Run() })
}

// eventually waits until n sessions are found: a pane's process must first execute the agent.
func eventually(t *testing.T, n int) (f Found) {
	t.Helper()
	wait.For(t, fmt.Sprintf("%d sessions are found", n), func() (any, bool) {
		f = Agents(t.Context(), known(), "")
		return f, len(f.Sessions) == n
	})
	return f
}

func TestAgents(t *testing.T) {
	dir := place(t)
	if f := Agents(t.Context(), known(), ""); len(f.Sessions)+len(f.Unasked) > 0 {
		t.Errorf("without any server: %+v", f)
	}
	work := filepath.Join(dir, "work")
	for _, args := range [][]string{{"init", "-q", "-b", "trunk", work}, {"init", "-q", "-b", "other", filepath.Join(work, "inner")}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
	sub := filepath.Join(work, "deep", "down")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	server(t, "one", "-s", "direct", "-c", work, "claude")
	tmuxRun(t, "-L", "one", "new-session", "-d", "-s", "shell", "-c", sub, "sh")
	tmuxRun(t, "-L", "one", "send-keys", "-t", "=shell:", "claude", "Enter")
	tmuxRun(t, "-L", "one", "new-session", "-d", "-s", "idle", "sh")
	server(t, "two", "-s", "many", "-c", dir, "claude")
	tmuxRun(t, "-L", "two", "new-window", "-d", "-t", "=many:", "sh")
	tmuxRun(t, "-L", "two", "split-window", "-d", "-t", "=many:0", "-c", dir, "claude")
	if err := os.WriteFile(filepath.Join(dir, "tmux-"+strconv.Itoa(os.Getuid()), "note"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := eventually(t, 4)
	for i, want := range []Session{
		{ID: "tmux:one/direct", Socket: "one", Name: "direct", Agent: "claude", Workspace: work, Branch: "trunk"},
		{ID: "tmux:one/shell", Socket: "one", Name: "shell", Agent: "claude", Workspace: sub, Branch: "trunk"},
		{ID: "tmux:two/many", Socket: "two", Name: "many", Agent: "claude", Workspace: dir, Problem: "one of 3 panes: it needs a tmux session of its own"},
		{ID: "tmux:two/many", Socket: "two", Name: "many", Agent: "claude", Workspace: dir, Problem: "one of 3 panes: it needs a tmux session of its own"},
	} {
		got := f.Sessions[i]
		if (want.Problem != "") != (got.Remedy != "") || got.Pane == "" || time.Since(got.IdleSince) > time.Minute {
			t.Errorf("%+v", got)
		}
		got.Pane, got.Remedy, got.IdleSince = "", "", time.Time{}
		if got != want {
			t.Errorf("found %+v, want %+v", got, want)
		}
	}
	// The remedy moves the agent to its own session without interrupting it.
	pid := tmuxRun(t, "-L", "two", "display-message", "-p", "-t", f.Sessions[3].Pane, "#{pane_pid}")
	if out, err := exec.Command("sh", "-c", f.Sessions[3].Remedy).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", f.Sessions[3].Remedy, err, out)
	}
	own := slices.IndexFunc(Agents(t.Context(), known(), "").Sessions, func(s Session) bool {
		return s.Pane == f.Sessions[3].Pane && s.Problem == "" && s.Name != "many"
	})
	if now := tmuxRun(t, "-L", "two", "display-message", "-p", "-t", f.Sessions[3].Pane, "#{pane_pid}"); own < 0 || now != pid {
		t.Errorf("after %s: session %d, process %s, was %s", f.Sessions[3].Remedy, own, now, pid)
	}
}

func TestSocketsThatDoNotAnswer(t *testing.T) {
	dir := place(t)
	server(t, "mine", "-s", "web", "claude")
	eventually(t, 1)
	sockets := filepath.Join(dir, "tmux-"+strconv.Itoa(os.Getuid()))

	dead := filepath.Join(sockets, "dead")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrUnix{Name: dead}), syscall.Close(fd)); err != nil {
		t.Fatal(err)
	}
	if f := Agents(t.Context(), known(), ""); len(f.Sessions) != 1 || len(f.Unasked) != 0 {
		t.Errorf("with a dead socket: %+v", f)
	}
	if _, err := os.Lstat(dead); err != nil {
		t.Errorf("the dead socket: %v", err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dead, 4711, -1); err != nil {
			t.Fatal(err)
		}
		if f := Agents(t.Context(), known(), ""); len(f.Unasked) != 1 || f.Unasked[0] != (Unasked{"dead", "its socket belongs to another user (uid 4711)"}) {
			t.Errorf("with another user's socket: %+v", f.Unasked)
		}
	}
	if err := os.Remove(dead); err != nil {
		t.Fatal(err)
	}

	// The server in TMUX, wherever its socket is.
	elsewhere := filepath.Join(dir, "elsewhere")
	tmuxRun(t, "-S", elsewhere, "new-session", "-d", "-s", "far", "claude")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", elsewhere, "kill-server").Run() })
	wait.For(t, "the server of TMUX is found", func() (any, bool) {
		f := Agents(t.Context(), known(), elsewhere+",4711,0")
		return f, len(f.Sessions) == 2 && f.Sessions[0].ID == "tmux:"+elsewhere+"/far"
	})

	// A tmux program that is incompatible with the server.
	other := "#!/bin/sh\necho 'protocol version mismatch (client 7, server 8)' >&2\nexit 1\n"
	executable.Write(t, filepath.Join(dir, "bin", "tmux"), []byte(other), 0o700)
	f := Agents(t.Context(), known(), "")
	if len(f.Sessions) != 0 || len(f.Unasked) != 1 || !strings.Contains(f.Unasked[0].Problem, "another version of tmux") {
		t.Errorf("with another version: %+v", f)
	}
	if err := os.Remove(filepath.Join(dir, "bin", "tmux")); err != nil {
		t.Fatal(err)
	}
}
