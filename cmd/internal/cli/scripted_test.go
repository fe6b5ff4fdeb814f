//go:build !real

package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/cmd/internal/cli"
	"github.com/agentform/agentform/session"
	"github.com/agentform/agentform/session/sessiontest"
)

// TestScriptedScripts runs scripts whose sessions are in a scripted runtime: their agents
// are ready at once and do nothing more. With the tag real, TestScripts runs the same
// scripts with tmux instead: testscript has one agentform for all scripts of a process.
func TestScriptedScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join("testdata", "script", "scripted"),
		Setup:              setupScripted,
		Cmds:               scriptedCommands,
		RequireUniqueNames: true,
	})
}

var scriptedCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"agentform": func(ts *testscript.TestScript, neg bool, args []string) {
		if code := exitStatus(ts, "agentform", args...); (code == 0) == neg {
			ts.Fatalf("exit code %d", code)
		}
	},
	"killagent": func(ts *testscript.TestScript, neg bool, args []string) {
		runtimesOf(ts).kill(ts, args[0])
	},
	// Nothing happens by itself in these scripts.
	"waitfor": func(ts *testscript.TestScript, neg bool, args []string) {
		exitStatus(ts, args[1], args[2:]...)
		if regexp.MustCompile("(?m)"+args[0]).MatchString(runtimesOf(ts).said.String()) == neg {
			ts.Fatalf("%q: %v", args[0], !neg)
		}
	},
	"gone": func(ts *testscript.TestScript, neg bool, args []string) {
		for _, pid := range args {
			if runtimesOf(ts).alive(pid) != neg {
				ts.Fatalf("process %s lives: %v", pid, !neg)
			}
		}
	},
	"exits":   exits,
	"link":    link,
	"jsonq":   jsonq,
	"save":    save,
	"lock":    lock,
	"readenv": readEnv,
}

// setupScripted gives a script a home, programs that preflight looks for and a repository.
func setupScripted(e *testscript.Env) error {
	home, bin := filepath.Join(e.WorkDir, ".tmp", "home"), filepath.Join(e.WorkDir, ".tmp", "bin")
	for _, dir := range []string{home, bin} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	config := "[user]\n\tname = tester\n\temail = tester@example.invalid\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		return err
	}
	for _, program := range []string{"fakeagent", "tmux"} { // looked for, and never run
		if err := os.WriteFile(filepath.Join(bin, program), []byte("#!/bin/sh\n"), 0o700); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{
		"HOME": home, "XDG_RUNTIME_DIR": filepath.Join(e.WorkDir, ".tmp"), "SHORT": filepath.Join(e.WorkDir, ".tmp"), "GIT_CONFIG_NOSYSTEM": "1", "USER": "tester",
		"LANG": "C.UTF-8", "SHELL": "/bin/sh", "BIN": bin, "PATH": bin + ":" + os.Getenv("PATH"),
	} {
		e.Setenv(name, value)
	}
	e.Values[inProcess{}] = &scriptedRuntimes{Scripted: sessiontest.NewWith("", session.TraitsOf("tmux"))}
	return repository(e)
}

// inProcess is the key of a script's *scriptedRuntimes.
type inProcess struct{}

func runtimesOf(ts *testscript.TestScript) *scriptedRuntimes {
	return ts.Value(inProcess{}).(*scriptedRuntimes)
}

// exitStatus runs a command and returns its exit status, agentform in this process.
func exitStatus(ts *testscript.TestScript, name string, args ...string) int {
	if name == "agentform" {
		return runtimesOf(ts).agentform(ts, ts.Stdout(), args)
	}
	return execute(ts, name, args...)
}

// scriptedRuntimes are what the sessions of a script run in.
type scriptedRuntimes struct {
	*sessiontest.Scripted
	said bytes.Buffer // what the last command printed
}

// Runtime returns the same runtime for all sessions.
func (r *scriptedRuntimes) Runtime(string, session.RuntimeSpec) (session.Runtime, error) {
	return r, nil
}

// Create starts an agent that is ready.
func (r *scriptedRuntimes) Create(ctx context.Context, l session.Launch) (session.Location, error) {
	r.Script(l.Name, sessiontest.Step{Screen: "ready>"})
	return r.Scripted.Create(ctx, l)
}

// kill ends the agent of a session with SIGKILL.
func (r *scriptedRuntimes) kill(ts *testscript.TestScript, name string) {
	var status bytes.Buffer
	r.agentform(ts, &status, []string{"status", "--json", name})
	id := query(ts, status.String(), "sessions.0.id")
	for _, place := range r.Places() {
		if st, _ := r.State(place); st.Live.Mark.ID == id {
			r.Kill(place)
			return
		}
	}
	ts.Fatalf("no session has id %s", id)
}

// agentform runs a command line and returns its exit status.
func (r *scriptedRuntimes) agentform(ts *testscript.TestScript, stdout io.Writer, args []string) int {
	stdin, environ := ask(ts, "cat"), ask(ts, "env") // cat prints the standard input that the script has set
	r.said.Reset()
	stdout = io.MultiWriter(stdout, &r.said)
	return cli.Run(context.Background(), cli.Env{
		Stdin: strings.NewReader(stdin), Stdout: stdout, Stderr: ts.Stderr(),
		Environ: strings.Split(strings.TrimSpace(environ), "\n"), Args: args, Dir: ts.MkAbs("."), Version: "0.1.0", Runtimes: r,
	})
}

// ask returns what a program of this machine prints in the environment of the script.
func ask(ts *testscript.TestScript, program string) string {
	path, err := exec.LookPath(program)
	ts.Check(err)
	ts.Check(ts.Exec(path))
	return ts.ReadFile("stdout")
}

// alive reports whether the process of an agent lives.
func (r *scriptedRuntimes) alive(pid string) bool {
	return slices.ContainsFunc(r.Places(), func(place string) bool {
		st, _ := r.State(place)
		return strconv.Itoa(st.Live.Agent.PID) == pid && st.Live.Liveness == session.Alive
	})
}
