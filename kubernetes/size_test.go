//go:build kubernetes

package kubernetes_test

import (
	"encoding/json"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agentform/agentform/internal/test/kubetest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/kubernetes"
)

// wire forwards connections to the API server of a cluster, byte by byte.
type wire struct {
	kubeconfig string

	mu     sync.Mutex
	silent bool // nothing is forwarded any more
	open   []net.Conn
}

// newWire returns a wire that ends with the test.
func newWire(t *testing.T, c kubetest.Cluster) *wire {
	t.Helper()
	var config map[string]any
	if err := json.Unmarshal([]byte(c.Kubectl(t, "config", "view", "--raw", "--flatten", "-o", "json")), &config); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	settings := config["clusters"].([]any)[0].(map[string]any)["cluster"].(map[string]any)
	server, err := url.Parse(settings["server"].(string))
	if err != nil {
		t.Fatal(err)
	}
	settings["server"], settings["tls-server-name"] = "https://"+l.Addr().String(), server.Hostname()
	w := &wire{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	text, err := json.Marshal(config)
	if err == nil {
		err = os.WriteFile(w.kubeconfig, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		w.cut()
	})
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server.Host)
			if err != nil {
				near.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, near, far)
			w.mu.Unlock()
			go w.forward(near, far)
			go w.forward(far, near)
		}
	}()
	return w
}

// forward copies one direction of a connection. It closes both ends, unless the wire is silent.
func (w *wire) forward(to, from net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		w.mu.Lock()
		silent := w.silent
		w.mu.Unlock()
		if silent {
			_, _ = io.Copy(io.Discard, from)
			return
		}
		if err == nil {
			_, err = to.Write(b[:n])
		}
		if err != nil {
			to.Close()
			from.Close()
			return
		}
	}
}

// cut closes all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.open {
		c.Close()
	}
	w.open = nil
}

// silence stops forwarding, and closes nothing: as if the machine of the client had vanished.
func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = true
}

// TestTerminalLeaves checks that a session in a pod gets its own size back after a small terminal has left,
// and that no client stays in the pod, however the client or its connection ended.
func TestTerminalLeaves(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	onPath(t)
	p := b.create(t, b.launch("app"))
	b.listening(t, p)
	outer := filepath.Join(t.TempDir(), "outer")
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", outer, "kill-server").Run() })
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v: %s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	tmux := func(args ...string) string {
		t.Helper()
		out, err := b.exec(p, append([]string{"tmux", "-S", "/run/agentform/tmux"}, args...)...)
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return strings.TrimSpace(out)
	}
	clients := func() string {
		return tmux("list-clients", "-F", "#{?client_control_mode,,#{client_name}}")
	}
	sized := func(what string, attached, columns, rows int) {
		t.Helper()
		wait.For(t, what, func() (any, bool) {
			lives, err := b.runtime.Observe(t.Context(), true)
			if err != nil || len(lives) != 1 {
				t.Fatalf("observe: %v, %v", lives, err)
			}
			return lives[0], lives[0].Attached == attached && lives[0].Size == [2]int{columns, rows}
		})
	}
	for _, x := range []struct {
		how   string
		leave func(pid string, w *wire)
	}{
		{"detached", func(string, *wire) { tmux("detach-client", "-t", clients()) }},
		{"killed", func(pid string, _ *wire) { run("kill", "-9", pid) }},
		{"no terminal", func(string, *wire) { run("tmux", "-S", outer, "kill-server") }},
		{"its connection is cut", func(_ string, w *wire) { w.cut() }},
		{"its machine has vanished", func(_ string, w *wire) { w.silence() }},
	} {
		w := newWire(t, b.cluster)
		far := kubernetes.New(kubernetes.Config{Kubeconfig: w.kubeconfig, Namespace: b.namespace, DataDir: dataDir, Lineage: lineage, Exec: []string{"agentform", "kubernetes-exec"}})
		sized(x.how+": the window has its own size", 0, 200, 50)
		pid := run("tmux", append([]string{"-f", "/dev/null", "-S", outer, "new-session", "-d", "-P", "-F", "#{pane_pid}", "-x", "40", "-y", "6", "--"}, far.Attach(p)...)...)
		sized(x.how+": the window is as small as the terminal", 1, 40, 5)
		x.leave(pid, w)
		sized(x.how+": the window has its own size again", 0, 200, 50)
		wait.For(t, x.how+": no client stays", func() (any, bool) { left := clients(); return left, left == "" })
		_ = exec.Command("tmux", "-S", outer, "kill-server").Run() // it has left, or is of no use any more
		// A server that is about to exit refuses the next terminal.
		wait.For(t, x.how+": the outer server leaves", func() (any, bool) {
			left, err := exec.Command("pgrep", "-f", outer).Output()
			return string(left), err != nil
		})
	}
}
