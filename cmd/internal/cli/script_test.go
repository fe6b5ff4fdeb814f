//go:build real

package cli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/cmd/internal/cli"
	"github.com/agentform/agentform/internal/test/fakeagent"
	"github.com/agentform/agentform/internal/test/wait"
)

func TestMain(m *testing.M) {
	testscript.Main(withShim{m}, map[string]func(){
		"agentform": func() {
			dir, err := os.Getwd()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(cli.Run(context.Background(), cli.Env{
				Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
				Environ: os.Environ(), Args: os.Args[1:], Dir: dir, Version: "0.1.0",
			}))
		},
		"fakeagent":    func() { os.Exit(fakeagent.Main()) },
		"fakeglab":     func() { os.Exit(fakeGlab()) },
		"endleftovers": endLeftovers,
	})
}

// withShim runs the tests with the shim beside agentform, as it is released.
type withShim struct{ *testing.M }

func (m withShim) Run() int {
	self, err := exec.LookPath("agentform") // the one that testscript has laid out
	if err == nil {
		c := exec.Command("go", "build", "-o", filepath.Join(filepath.Dir(self), "agentform-shim"), "../../../cmd/agentform-shim")
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		c.Stderr = os.Stderr
		err = c.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the shim:", err)
		return 1
	}
	return m.M.Run()
}

// TestScripts runs what reads like a session at the terminal: real tmux, real
// git, real processes, in a repository and a home of each script's own.
func TestScripts(t *testing.T) {
	self, err := exec.LookPath("agentform")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"*.txtar", "scripted/*.txtar"} {
		found, _ := filepath.Glob(filepath.Join("testdata", "script", pattern)) // fails only for a bad pattern
		files = append(files, found...)
	}
	bin := filepath.Dir(self)
	testscript.Run(t, testscript.Params{
		Files:               files,
		Setup:               func(e *testscript.Env) error { return setup(e, bin) },
		Cmds:                commands,
		RequireUniqueNames:  true,
		RequireExplicitExec: false,
	})
}

// setup gives a script a home, a directory for sockets with a short path (a unix
// socket's may have 107 bytes) and a repository of what the script brings along.
// Afterwards nothing that it started lives on.
func setup(e *testscript.Env, bin string) error {
	if at, limited := e.T().(wait.T).Deadline(); limited { // testscript's T is a *testing.T with other methods
		e.Values[deadline{}] = at
	}
	short, err := os.MkdirTemp("/tmp", "af")
	if err != nil {
		return err
	}
	done, err := endLater(short)
	if err != nil {
		return err
	}
	e.Defer(func() {
		defer done()
		if left := end(short); len(left) > 0 {
			e.T().Log("could not end all that the script started:", left)
		}
		if err := os.RemoveAll(short); err != nil {
			e.T().Log(err)
		}
		// A script that takes rights away must not keep its directory from going.
		_ = exec.Command("chmod", "-R", "u+rwX", e.WorkDir).Run()
	})
	home, sockets := filepath.Join(short, "home"), filepath.Join(short, "run")
	for _, dir := range []string{home, sockets} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	config := "[user]\n\tname = tester\n\temail = tester@example.invalid\n[init]\n\tdefaultBranch = main\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o600); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"HOME": home, "XDG_RUNTIME_DIR": sockets, "GIT_CONFIG_NOSYSTEM": "1", "USER": "tester",
		"LANG": "C.UTF-8", "SHELL": "/bin/sh", "BIN": bin, "SHORT": short,
		"DOCKER_HOST": os.Getenv("DOCKER_HOST"), "ENGINE": os.Getenv("DOCKER_HOST"),
	} {
		e.Setenv(name, value)
	}
	return repository(e)
}

// exitStatus runs a command and returns its exit status.
var exitStatus = execute
