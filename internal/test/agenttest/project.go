package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/creack/pty"

	"github.com/agentform/agentform/internal/plaintext"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// Programs is the environment variable with the folder that agentform and its
// shim were built into.
const Programs = "AGENTFORM_PROGRAMS"

// Project is a manifest in the lab's workspace, and the built agentform that
// carries it out: the whole way, from the manifest to the agent and back.
type Project struct {
	Lab *Lab
	env []string
}

// Project makes the workspace a project of one session, api, of the lab's agent.
// The session's attributes are added to its block.
func (l *Lab) Project(attributes string) *Project {
	l.t.Helper()
	programs := os.Getenv(Programs)
	if programs == "" {
		l.t.Fatalf("%s names no folder with agentform in it", Programs)
	}
	sockets := filepath.Join(l.root, "run")
	if err := os.Mkdir(sockets, 0o700); err != nil {
		l.t.Fatal(err)
	}
	var secrets, env []string
	p := &Project{Lab: l}
	for name, value := range l.Env {
		switch {
		case strings.HasSuffix(name, "_API_KEY"):
			secrets = append(secrets, quoted(name))
		case name == "AGENTTEST_LAB" || strings.HasSuffix(name, "_URL"):
			env = append(env, name+" = "+quoted(value))
		}
		if name == "PATH" {
			value = programs + ":" + value
		}
		p.env = append(p.env, name+"="+value)
	}
	p.env = append(p.env, "XDG_RUNTIME_DIR="+sockets, "GIT_CONFIG_NOSYSTEM=1", "DOCKER_HOST="+os.Getenv("DOCKER_HOST"))
	block := l.Block
	if block == "" {
		block = "agent " + quoted(l.Agent) + " {\n  base    = " + quoted(l.Agent) + "\n  command = [" + quoted(l.Spec.Command[0]) + "]\n  trust   = " + strconv.FormatBool(!l.Asks) + "\n  ready_timeout = \"4m\"\n}\n"
	}
	manifest := block +
		"session \"api\" {\n  agent   = agent." + l.Agent + "\n  branch  = \"agents/api\"\n" +
		"  secrets = [" + strings.Join(secrets, ", ") + "]\n  env     = { " + strings.Join(env, ", ") + " }\n" + attributes + "\n}\n"
	if err := os.WriteFile(filepath.Join(l.Dir, "agentform.hcl"), []byte(manifest), 0o600); err != nil {
		l.t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "agentform.hcl"}, {"-c", "user.name=tester", "-c", "user.email=tester@example.invalid", "commit", "-q", "-m", "a shop"}} {
		if out, err := exec.Command("git", append([]string{"-C", l.Dir}, args...)...).CombinedOutput(); err != nil {
			l.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return p
}

// quoted is a text as HCL has it.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text always can be
	}
	return strings.ReplaceAll(string(b), "${", "$${")
}

// Run runs agentform; what it printed on both streams, and its exit code.
func (p *Project) Run(args ...string) (output string, code int) {
	p.Lab.t.Helper()
	c := exec.Command(filepath.Join(os.Getenv(Programs), "agentform"), args...)
	c.Dir, c.Env = p.Lab.Dir, p.env
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		p.Lab.t.Fatalf("agentform %v: %v", args, err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// Killed runs agentform and kills it after a time, unless it has ended before.
func (p *Project) Killed(after time.Duration, args ...string) {
	p.Lab.t.Helper()
	c := exec.Command(filepath.Join(os.Getenv(Programs), "agentform"), args...)
	c.Dir, c.Env = p.Lab.Dir, p.env
	if err := c.Start(); err != nil {
		p.Lab.t.Fatalf("agentform %v: %v", args, err)
	}
	kill := time.AfterFunc(after, func() { _ = c.Process.Kill() }) // it may have ended
	defer kill.Stop()
	_ = c.Wait() // killed
}

// AtTerminal is Run at a terminal of 24 lines with 80 columns.
func (p *Project) AtTerminal(args ...string) (shown string, code int) {
	p.Lab.t.Helper()
	c := exec.Command(filepath.Join(os.Getenv(Programs), "agentform"), args...)
	c.Dir, c.Env = p.Lab.Dir, append(slices.Clone(p.env), "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		p.Lab.t.Fatalf("agentform %v: %v", args, err)
	}
	defer terminal.Close()
	out, _ := io.ReadAll(terminal) // fails when the terminal ends
	_ = c.Wait()                   // the exit code says it
	return plaintext.Safe(string(out)), c.ProcessState.ExitCode()
}

// Edit replaces a text in the manifest.
func (p *Project) Edit(old, now string) {
	p.Lab.t.Helper()
	path := filepath.Join(p.Lab.Dir, "agentform.hcl")
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(text, []byte(old)) {
		p.Lab.t.Fatalf("the manifest has no %q", old)
	}
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(text, []byte(old), []byte(now), 1), 0o600)
	}
	if err != nil {
		p.Lab.t.Fatal(err)
	}
}

// Do runs agentform; the test ends when that fails.
func (p *Project) Do(args ...string) string {
	p.Lab.t.Helper()
	out, code := p.Run(args...)
	if code != 0 {
		p.Lab.t.Fatalf("agentform %v: exit %d\n%s", args, code, out)
	}
	return out
}

// Status is what `status --json` says of the session.
type Status struct {
	State        string `json:"state"`
	Activity     string `json:"activity"`
	Health       string `json:"health"`
	Detail       string `json:"detail"`
	PID          int    `json:"pid"`
	Turns        int    `json:"turns"`
	Conversation string `json:"conversation_id"`
	Question     *session.Question
}

// Status looks at the session.
func (p *Project) Status() Status {
	p.Lab.t.Helper()
	var s struct{ Sessions []Status }
	out := p.Do("status", "--json")
	if err := json.Unmarshal(bytes.TrimSpace([]byte(out)), &s); err != nil || len(s.Sessions) != 1 {
		p.Lab.t.Fatalf("status: %v\n%s", err, out)
	}
	return s.Sessions[0]
}

// Until looks until it sees what is waited for.
func (p *Project) Until(what string, seen func(Status) bool) (s Status) {
	p.Lab.t.Helper()
	wait.For(p.Lab.t, what, func() (any, bool) {
		s = p.Status()
		return func() string { show, _ := p.Run("show", "api"); return fmt.Sprintf("%+v\n%s", s, show) }, seen(s)
	})
	return s
}

// Press presses a key while the agent asks, and again every few seconds until it is seen to
// be taken: an agent may show a question a little before it listens to the answer.
func (p *Project) Press(key, what string, taken func(Status) bool) Status {
	p.Lab.t.Helper()
	var pressed time.Time
	return p.Until(what, func(s Status) bool {
		if taken(s) {
			return true
		}
		if s.Activity == "blocked" && time.Since(pressed) > patience {
			p.Do("send", "api", "--key", key)
			pressed = time.Now()
		}
		return false
	})
}
