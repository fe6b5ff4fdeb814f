package agenttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/internal/test/modelserver"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// Folder is the environment variable with the folder that the agents are
// installed in: node_modules is in it.
const Folder = "AGENTFORM_AGENTS"

// packages are the agents' names at npm.
var packages = map[string]string{
	"claude": "@anthropic-ai/claude-code",
	"codex":  "@openai/codex",
	"gemini": "@google/gemini-cli",
	"qwen":   "@qwen-code/qwen-code",
	// Its package for all systems only has a launcher, which needs a newer Node.
	"copilot": "@github/copilot-linux-x64",
	// Its package for all systems only has a launcher, which an install script completes.
	"opencode": "opencode-linux-x64",
}

// Lab is what one agent has around it. It is gone when its test ends, with every
// process that was started in it.
type Lab struct {
	Agent   string // claude, codex, copilot, gemini, opencode, qwen
	Version string // as it was installed
	Spec    session.AgentSpec
	Model   *modelserver.Server
	Home    string
	Dir     string            // the workspace, an empty git repository
	Columns int               // of its terminals; 0: 120
	Asks    bool              // its project does not say that the workspace is trusted
	Block   string            // of its project, for an agent that is not built in
	Env     map[string]string // all that the agent's environment has, except for what its adapter adds

	t      *testing.T
	root   string // a folder with a short path: a socket's may have 107 bytes
	mark   string // in the environment of every process, to find it again
	number int    // of runs so far
}

// New makes a lab for an agent that a person has set up: it is logged in, with a
// key, and trusts the workspace.
func New(t *testing.T, name string) *Lab {
	t.Helper()
	l := Bare(t, name)
	for path, text := range home(name, l.Dir, l.Model.URL) {
		l.Write(path, text)
	}
	return l
}

// Bare makes a lab for an agent that was never started: its home is empty.
func Bare(t *testing.T, name string) *Lab {
	t.Helper()
	folder := os.Getenv(Folder)
	if folder == "" {
		t.Fatalf("%s names no folder with the agents in it: run `make check-agents`, or: %s=$(scripts/agents.sh) go test -tags agents", Folder, Folder)
	}
	l := &Lab{Agent: name, Version: version(t, folder, name), t: t}
	bin := filepath.Join(folder, "node_modules", ".bin")
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	l.root, err = os.MkdirTemp("/tmp", "af-")
	if err != nil {
		t.Fatal(err)
	}
	l.root, err = filepath.EvalSymlinks(l.root)
	if err != nil {
		t.Fatal(err)
	}
	l.mark = "AGENTTEST_LAB=" + l.root
	t.Cleanup(l.clear)
	l.Home, l.Dir = filepath.Join(l.root, "home"), filepath.Join(l.root, "shop")
	for _, dir := range []string{l.Home, l.Dir, filepath.Join(l.root, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", "-b", "main", l.Dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	l.Model, err = modelserver.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Model.Close)
	l.Spec = agent.Builtins()[name]
	switch name {
	case "copilot":
		bin = filepath.Join(folder, "node_modules", packages[name])
	case "opencode":
		bin = filepath.Join(folder, "node_modules", packages[name], "bin")
	}
	l.Spec.Command = []string{filepath.Join(bin, name)}
	l.Env = map[string]string{
		"HOME": l.Home, "TMPDIR": filepath.Join(l.root, "tmp"), "USER": "tester", "SHELL": "/bin/sh",
		"PATH": bin + ":" + filepath.Dir(node) + ":/usr/local/bin:/usr/bin:/bin",
		"LANG": "C.UTF-8", "TERM": "tmux-256color", "AGENTTEST_LAB": l.root,
	}
	maps.Copy(l.Env, access(name, l.Model.URL))
	return l
}

// version is what is installed, so that a test can say what it has seen.
func version(t *testing.T, folder, name string) string {
	t.Helper()
	file := filepath.Join(folder, "node_modules", packages[name], "package.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s is not installed: %v", name, err)
	}
	var p struct{ Version string }
	if err := json.Unmarshal(text, &p); err != nil || p.Version == "" {
		t.Fatalf("%s names no version: %v", file, err)
	}
	return p.Version
}

// Write writes a file of the home.
func (l *Lab) Write(path, text string) {
	l.t.Helper()
	path = filepath.Join(l.Home, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// Moved says that a fact about the agent is not what the adapter takes it for.
func (l *Lab) Moved(fact, format string, args ...any) {
	l.t.Helper()
	l.t.Errorf("%s %s: this fact has moved: %s: %s", l.Agent, l.Version, fact, fmt.Sprintf(format, args...))
}

// clear ends what was started in the lab, and removes it.
func (l *Lab) clear() {
	for n := 1; n <= l.number; n++ {
		_ = l.tmux(n, "kill-server").Run() // gone already is as good
	}
	// A project's server does not carry the mark, and stays with a session that a
	// failed test has left.
	if servers, err := filepath.Glob(filepath.Join(l.root, "run", "agentform", "*", "tmux-*")); err == nil {
		for _, socket := range servers {
			_ = exec.Command("tmux", "-S", socket, "kill-server").Run()
		}
	}
	if l.t.Failed() {
		l.t.Logf("the home and the workspace were in %s", l.root)
	}
	wait.For(l.t, "the processes of the lab have ended", func() (any, bool) {
		for p := range l.processes() {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // gone already is as good
		}
		left := l.Alive()
		return left, len(left) == 0
	})
	// What was killed at work may still have been writing.
	if err := os.RemoveAll(l.root); err != nil && os.RemoveAll(l.root) != nil {
		l.t.Errorf("remove the lab: %v", err)
	}
}
