//go:build real

package tmux_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentform/agentform/internal/shim/program"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
	"github.com/agentform/agentform/tmux"
)

// TestMain runs the test binary also as the shim and as a process that is killed.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == "shim":
		os.Exit(program.Main(os.Args[2:]))
	case len(os.Args) > 3 && os.Args[1] == "hold":
		os.Exit(hold(os.Args[2], os.Args[3]))
	}
	goleak.VerifyTestMain(m)
}

// agent is a program that exits, prints, or only records in $STATE, for each line.
const agent = `
stty -echo
env -0 >"$STATE/environ"
: >"$STATE/heard"
while IFS= read -r line; do
	printf '%s\n' "$line" >>"$STATE/heard"
	case $line in
	"exit "*) exit "${line#exit }" ;;
	"say "*) printf '%s\n' "${line#say }" ;;
	esac
done
`

const lineage = "5e1f-lineage"

// bed is a runtime in its own directories.
type bed struct {
	config  tmux.Config
	runtime *tmux.Runtime
	root    string
}

// tester is a test, or a benchmark as unlimited.
type tester interface {
	testing.TB
	wait.T
}

// newBed returns a bed. When the test ends, it ends all remaining servers and shims.
func newBed(t tester) *bed {
	t.Helper()
	// The path of the test's own directory is too long for a socket.
	root, err := os.MkdirTemp("", "af")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{root: root, config: tmux.Config{
		SocketDir: filepath.Join(root, "s"),
		DataDir:   filepath.Join(root, "data dir.ü"),
		Lineage:   lineage,
		Shim:      []string{self, "shim"},
	}}
	for _, d := range []string{b.config.SocketDir, b.config.DataDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.runtime = tmux.New(b.config)
	t.Cleanup(func() { b.clean(t) })
	return b
}

func (b *bed) clean(t tester) {
	ctx := context.Background() // the test's has ended
	lives, err := b.runtime.Observe(ctx, false)
	if err != nil {
		t.Errorf("clean up: %v", err)
	}
	var wg sync.WaitGroup
	for _, l := range lives {
		if l.Foreign {
			b.tmux(t, l.Location.Socket, "kill-session", "-t", "="+l.Location.Name)
			continue
		}
		wg.Go(func() {
			if err := b.runtime.Remove(ctx, l.Location); err != nil {
				t.Errorf("clean up: %v", err)
			}
		})
	}
	wg.Wait()
	b.runtime.Close()
	// Servers whose sessions the test has killed exit by themselves.
	wait.For(t, "no process is left", func() (any, bool) { left := b.processes(t); return left, len(left) == 0 })
	if err := os.RemoveAll(b.root); err != nil {
		t.Error(err)
	}
}

// tmux runs a tmux command on a socket and returns what it printed.
func (b *bed) tmux(t testing.TB, socket string, args ...string) string {
	t.Helper()
	out, err := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", socket}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (b *bed) socket(n int) string {
	return filepath.Join(b.config.SocketDir, fmt.Sprintf("tmux-%d", n))
}

// processes returns the command lines with the bed's directory: of tmux servers and
// clients, shims and agents.
func (b *bed) processes(t testing.TB) []string {
	var found []string
	for _, pid := range pids(t) {
		line := strings.ReplaceAll(read("/proc/"+pid+"/cmdline"), "\x00", " ")
		if strings.Contains(line, b.root) {
			found = append(found, line)
		}
	}
	return found
}

func pids(t testing.TB) []string {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789") == "" {
			out = append(out, e.Name())
		}
	}
	return out
}

// read returns a file's text; empty if there is no such file.
func read(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

func newRun() string {
	b := make([]byte, 8)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// launch returns a run of the agent, in a directory with an odd name.
func (b *bed) launch(t testing.TB, name string) session.Launch {
	t.Helper()
	run := newRun()
	l := session.Launch{
		Mark:   session.Mark{Project: lineage, Address: session.Keyed("w", `a."b":c|ü#{pane_id}\`+"\n"), ID: name, Run: run, Hash: "1:abc"},
		Name:   name,
		RunDir: filepath.Join(b.config.DataDir, "runs", run),
		Dir:    filepath.Join(b.root, `work $HOME %H #{pane_id} #(touch x) "it's" ü`),
		Argv:   []string{"sh", "-c", agent, `an "odd" $argument; #{pane_id} ü`},
		Stop:   session.Stop{Signal: "SIGTERM", Grace: session.Duration(5 * time.Second)},
	}
	l.Env = []string{"PATH=" + os.Getenv("PATH"), "STATE=" + l.RunDir, "ODD=a b;$c\n\"d\"ü"}
	for _, d := range []string{l.RunDir, l.Dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// see observes a session.
func (b *bed) see(t testing.TB, p session.Location) (session.Live, bool) {
	t.Helper()
	lives, err := b.runtime.Observe(t.Context(), false)
	if err != nil {
		t.Fatalf("observe: %v", err)
	}
	i := slices.IndexFunc(lives, func(l session.Live) bool { return l.Location.Name == p.Name })
	if i < 0 {
		return session.Live{}, false
	}
	return lives[i], true
}

func (b *bed) create(t testing.TB, l session.Launch) session.Location {
	t.Helper()
	p, err := b.runtime.Create(t.Context(), l)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return p
}

// state returns a file that the agent of a session wrote.
func (b *bed) state(t testing.TB, p session.Location, name string) string {
	t.Helper()
	l, ok := b.see(t, p)
	if !ok {
		t.Fatalf("there is no session %q", p.Name)
	}
	return read(filepath.Join(b.config.DataDir, "runs", l.Mark.Run, name))
}

// listening waits until the agent reads.
func (b *bed) listening(t *testing.T, p session.Location) {
	t.Helper()
	l, _ := b.see(t, p)
	wait.For(t, p.Name+" reads", func() (any, bool) {
		_, err := os.Stat(filepath.Join(b.config.DataDir, "runs", l.Mark.Run, "heard"))
		return err, err == nil
	})
}

// hears waits until the agent has read a text and nothing else.
func (b *bed) hears(t *testing.T, p session.Location, text string) {
	t.Helper()
	wait.For(t, fmt.Sprintf("%s hears %.80q", p.Name, text), func() (any, bool) {
		heard := b.state(t, p, "heard")
		return heard, heard == text
	})
}

// dies waits until the session's agent is observed dead.
func (b *bed) dies(t *testing.T, p session.Location) (l session.Live) {
	t.Helper()
	wait.For(t, "the agent of "+p.Name+" is dead", func() (any, bool) {
		l, _ = b.see(t, p)
		return l, l.Liveness == session.Dead
	})
	return l
}

func (b *bed) send(t *testing.T, p session.Location, text string) {
	t.Helper()
	b.listening(t, p)
	if err := b.runtime.Send(t.Context(), p, session.Input{Text: text}); err != nil {
		t.Fatalf("send: %v", err)
	}
}

func TestConformance(t *testing.T) {
	sessiontest.Suite(t, func(t *testing.T) sessiontest.Harness {
		t.Parallel()
		b := newBed(t)
		return sessiontest.Harness{
			Runtime: b.runtime,
			Lineage: lineage,
			Launch:  func(t *testing.T, name string) session.Launch { return b.launch(t, name) },
			Exit: func(t *testing.T, p session.Location, code int) {
				b.send(t, p, fmt.Sprintf("exit %d", code))
			},
			Kill: func(t *testing.T, p session.Location) {
				l, _ := b.see(t, p)
				if err := syscall.Kill(l.Agent.PID, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			},
			Say: func(t *testing.T, p session.Location, lines ...string) {
				b.send(t, p, "say "+strings.Join(lines, "\nsay "))
			},
			Heard: func(t *testing.T, p session.Location) []string {
				return strings.Split(strings.TrimSuffix(b.state(t, p, "heard"), "\n"), "\n")
			},
			Environment: func(t *testing.T, p session.Location, name string) string {
				b.listening(t, p)
				for v := range strings.SplitSeq(b.state(t, p, "environ"), "\x00") {
					if value, ok := strings.CutPrefix(v, name+"="); ok {
						return value
					}
				}
				return ""
			},
			Visible: func(t *testing.T, p session.Location) string {
				shown := strings.Join(b.processes(t), "\n") +
					b.tmux(t, p.Socket, "show-environment", "-g") + b.tmux(t, p.Socket, "show-environment", "-t", "="+p.Name) +
					b.tmux(t, p.Socket, "show-options", "-t", "="+p.Name+":") +
					b.tmux(t, p.Socket, "list-panes", "-a", "-F", "#{pane_start_command}")
				l, _ := b.see(t, p)
				return shown + read(filepath.Join(b.config.DataDir, "runs", l.Mark.Run, "launch.json"))
			},
			Foreign: func(t *testing.T, name string) session.Location {
				b.tmux(t, b.socket(0), "new-session", "-d", "-s", name, "--", "sleep", "1000")
				return session.Location{Runtime: "tmux", Socket: b.socket(0), Name: name}
			},
		}
	})
}
