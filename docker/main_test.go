//go:build real

package docker_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentform/agentform/docker"
	"github.com/agentform/agentform/internal/shim/install"
	"github.com/agentform/agentform/internal/shim/program"
	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// image is built once, by the first test that uses it.
var image = sync.OnceValues(func() (string, error) { return dockertest.Build(dockertest.Programs()...) })

// TestMain runs the test binary also as the shim, and so as a container's first process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "shim" {
		os.Exit(program.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "elsewhere" {
		os.Exit(docker.CommandMain(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), install.Prefix) || os.Args[0] == "/proc/1/exe" { // a copy for an engine elsewhere
		os.Exit(program.Main(os.Args[1:]))
	}
	// The tests mostly wait for the engine.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if farStarted != nil {
		if err := farStarted.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "LEFT BEHIND:", err)
			code = 1
		}
	}
	if name, err := image(); err == nil {
		if err := dockertest.Remove(name); err != nil {
			fmt.Fprintln(os.Stderr, "LEFT BEHIND:", err)
			code = 1
		}
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// agent is a program that exits, prints, or only records, for each line. Its variables name the
// files.
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

// bed is a runtime in its own directories, with the facts that tests need. All tests share the
// engine, so the names of a bed's containers have its prefix.
type bed struct {
	config  docker.Config
	runtime *docker.Runtime
	root    string
	word    string
	image   string
	engine  string // for the docker command; empty: this machine's
	// with changes the requested settings.
	with func(*session.DockerConfig)
}

// newBed returns a bed. When the test ends, it removes all remaining containers.
func newBed(t *testing.T) *bed {
	t.Helper()
	made, err := image()
	if err != nil {
		t.Fatal(err)
	}
	// The path of the test's own directory is too long for a socket.
	root, err := os.MkdirTemp("", "af")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{image: made, root: root, word: "aft" + newRun()[:8] + "-", config: docker.Config{
		SocketDir: filepath.Join(root, "s"),
		DataDir:   filepath.Join(root, "data dir.ü"),
		Lineage:   lineage + root,
		Shim:      []string{self, "shim"},
	}}
	for _, d := range []string{b.config.SocketDir, b.config.DataDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.runtime = docker.New(b.config)
	t.Cleanup(func() { b.clean(t) })
	return b
}

func (b *bed) clean(t *testing.T) {
	if left := b.docker(t, "ps", "-aq", "--filter", "name=^"+b.word); left != "" {
		b.docker(t, append([]string{"rm", "-f"}, strings.Fields(left)...)...)
	}
	b.runtime.Close()
	if err := os.RemoveAll(b.root); err != nil {
		t.Error(err)
	}
}

// docker runs the docker command and returns what it printed.
func (b *bed) docker(t *testing.T, args ...string) string {
	t.Helper()
	if b.engine != "" {
		args = append([]string{"-H", b.engine}, args...)
	}
	out, err := dockertest.Docker(nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newRun() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// called returns a name with the bed's prefix.
func (b *bed) called(name string) string { return b.word + strings.TrimPrefix(name, b.word) }

// launch returns a run of the agent above, in a directory with an odd name.
func (b *bed) launch(t *testing.T, name string) session.Launch {
	t.Helper()
	run, name := newRun(), b.called(name)
	l := session.Launch{
		Mark:   session.Mark{Project: b.config.Lineage, Address: session.Keyed("w", `a."b":c|ü#{pane_id}\`+"\n"), ID: name, Run: run, Hash: "1:abc"},
		Name:   name,
		RunDir: filepath.Join(b.config.DataDir, "runs", run),
		Dir:    filepath.Join(b.root, `work $HOME %H #{pane_id} #(touch x) "it's" ü`),
		Argv:   []string{"sh", "-c", agent, `an "odd" $argument; #{pane_id} ü`},
		Stop:   session.Stop{Signal: "SIGTERM", Grace: session.Duration(5 * time.Second)},
		Spec: session.Spec{
			Runtime:   session.RuntimeSpec{Kind: "docker", Name: "box", Docker: &session.DockerConfig{Image: b.image, Network: "none"}},
			Workspace: session.Workspace{Mode: session.Clone},
		},
	}
	if b.with != nil {
		b.with(l.Spec.Runtime.Docker)
	}
	l.Env = []string{"STATE=" + l.RunDir, "ODD=a b;$c\n\"d\"ü"}
	for _, d := range []string{l.RunDir, l.Dir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// see returns the session as observed.
func (b *bed) see(t *testing.T, p session.Location) (session.Live, bool) {
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

func (b *bed) create(t *testing.T, l session.Launch) session.Location {
	t.Helper()
	p, err := b.runtime.Create(t.Context(), l)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return p
}

// state returns a file that the agent in the place wrote.
func (b *bed) state(t *testing.T, p session.Location, name string) string {
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

// hears waits until the agent has read a text.
func (b *bed) hears(t *testing.T, p session.Location, text string) {
	t.Helper()
	wait.For(t, "it hears "+text, func() (any, bool) {
		heard := b.state(t, p, "heard")
		return heard, strings.Contains(heard, text)
	})
}

func (b *bed) send(t *testing.T, p session.Location, text string) {
	t.Helper()
	b.listening(t, p)
	if err := b.runtime.Send(t.Context(), p, session.Input{Text: text}); err != nil {
		t.Fatalf("send: %v", err)
	}
}

// kill ends the agent by its pid in the container.
func (b *bed) kill(t *testing.T, p session.Location) {
	t.Helper()
	l, _ := b.see(t, p)
	b.docker(t, "exec", p.Name, "sh", "-c", fmt.Sprintf("kill -9 %d", l.Agent.PID))
}

// own shows only the containers of one bed.
type own struct {
	session.Runtime
	word string
}

func (o own) Observe(ctx context.Context, screens bool) ([]session.Live, error) {
	lives, err := o.Runtime.Observe(ctx, screens)
	return slices.DeleteFunc(lives, func(l session.Live) bool { return !strings.HasPrefix(l.Location.Name, o.word) }), err
}

func TestConformance(t *testing.T) {
	sessiontest.Suite(t, func(t *testing.T) sessiontest.Harness {
		t.Parallel()
		b := newBed(t)
		return sessiontest.Harness{
			Runtime: own{b.runtime, b.word},
			Lineage: b.config.Lineage,
			Launch:  func(t *testing.T, name string) session.Launch { return b.launch(t, name) },
			Exit: func(t *testing.T, p session.Location, code int) {
				b.send(t, p, fmt.Sprintf("exit %d", code))
			},
			Kill: func(t *testing.T, p session.Location) { b.kill(t, p) },
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
				l, _ := b.see(t, p)
				processes, err := exec.Command("ps", "axww", "-o", "args").Output()
				if err != nil {
					t.Fatal(err)
				}
				return b.docker(t, "inspect", p.Name) + b.docker(t, "top", p.Name) + string(processes) +
					b.docker(t, "exec", p.Name, "sh", "-c", "cat /proc/1/environ /proc/1/cmdline") + b.docker(t, "logs", p.Name) +
					read(filepath.Join(b.config.DataDir, "runs", l.Mark.Run, "launch.json"))
			},
			Foreign: func(t *testing.T, name string) session.Location {
				name = b.called(name)
				id := b.docker(t, "run", "-d", "--network", "none", "--name", name, b.image, "sleep", "1000")
				return session.Location{Runtime: "docker", Name: name, Container: id}
			},
		}
	})
}
