//go:build real

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/test/dockertest"
	"github.com/agentform/agentform/internal/test/gitserver"
)

// farKey is that of a script's engine in its values.
type farKey struct{}

// TestFarScripts runs what reads like a session at the terminal on an engine that is, for
// all that the sessions see, on another machine. Each script has one of its own, which it may
// cut off and kill.
func TestFarScripts(t *testing.T) {
	self, err := exec.LookPath("agentform")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../../examples")
	if err != nil {
		t.Fatal(err)
	}
	image := testImage(t)
	of := func(ts *testscript.TestScript) *dockertest.Far { return ts.Value(farKey{}).(*dockertest.Far) }
	docker := func(ts *testscript.TestScript, args ...string) {
		out, err := dockertest.Docker(nil, append([]string{"-H", of(ts).Host()}, args...)...)
		ts.Check(err)
		_, err = ts.Stdout().Write([]byte(out))
		ts.Check(err)
	}
	defined := map[string]func(*testscript.TestScript, bool, []string){
		"fardocker": func(ts *testscript.TestScript, _ bool, args []string) { docker(ts, args...) },
		"farvolumes": func(ts *testscript.TestScript, _ bool, _ []string) {
			docker(ts, "volume", "ls", "--format", "{{.Name}}", "--filter", "name=^agentform-")
		},
		"cutfar":    func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(of(ts).Cut()) },
		"healfar":   func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(of(ts).Heal()) },
		"killfar":   func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(of(ts).Kill()) },
		"gitserver": gitServer(t, func(ts *testscript.TestScript) string { return of(ts).Near }),
		"startfar":  func(ts *testscript.TestScript, _ bool, _ []string) { ts.Check(of(ts).Start()) },
	}
	for name, c := range commands {
		defined[name] = c
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script", "far"),
		Setup: func(e *testscript.Env) error {
			far, err := dockertest.StartFar()
			if err != nil {
				return err
			}
			e.Defer(func() {
				if err := far.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := far.Load(image); err != nil {
				return err
			}
			e.Values[farKey{}] = far
			e.Setenv("AGENTFORM_VAR_project", newProject())
			e.Setenv("AGENTFORM_VAR_image", image)
			e.Setenv("AGENTFORM_VAR_host", "tcp://"+far.Address)
			e.Setenv("AGENTFORM_VAR_ssh", far.SSH)
			e.Setenv("AGENTFORM_VAR_certs", far.Certs)
			e.Setenv("FAR", far.Host())
			e.Setenv("EXAMPLES", examples)
			// The engine is on this machine, so that its containers can mount the fake agent.
			e.Setenv("AGENTFORM_VAR_bin", filepath.Dir(self))
			e.Setenv("PATH", far.Bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Defer(func() {
				left, _ := dockertest.Docker(nil, "-H", far.Host(), "ps", "-aq")
				for _, id := range strings.Fields(left) {
					_, _ = dockertest.Docker(nil, "-H", far.Host(), "rm", "-f", id)
				}
			})
			return setup(e, filepath.Dir(self))
		},
		Cmds:               defined,
		RequireUniqueNames: true,
	})
}

// gitServer returns a command of scripts, gitserver PASSWORD: it starts a server that sessions
// reach at an address. AGENTFORM_VAR_url and GITDIR are of its repository.
func gitServer(t *testing.T, address func(*testscript.TestScript) string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: gitserver PASSWORD")
		}
		s := gitserver.Start(t, address(ts), args[0])
		ts.Setenv("AGENTFORM_VAR_url", s.URL)
		ts.Setenv("GITDIR", s.Dir)
	}
}
