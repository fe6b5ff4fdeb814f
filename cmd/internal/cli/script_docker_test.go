//go:build real

package cli_test

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agentform/agentform/internal/test/dockertest"
)

// TestContainerScripts runs what reads like a session at the terminal on the real
// engine, in an image of this machine's own programs. Each script has a project of
// its own name, and nothing of that is left afterwards.
func TestContainerScripts(t *testing.T) {
	self, err := exec.LookPath("agentform")
	if err != nil {
		t.Fatal(err)
	}
	image := testImage(t)
	defined := map[string]func(*testscript.TestScript, bool, []string){"containers": containers, "ownengine": ownEngine, "nobody": nobody, "smalldisk": smallDisk}
	for name, c := range commands {
		defined[name] = c
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script", "docker"),
		Setup: func(e *testscript.Env) error {
			project := newProject()
			e.Setenv("AGENTFORM_VAR_project", project)
			e.Setenv("AGENTFORM_VAR_image", image)
			e.Setenv("AGENTFORM_VAR_bin", filepath.Dir(self))
			e.Defer(func() { removeContainers(t, project) })
			return setup(e, filepath.Dir(self))
		},
		Cmds:               defined,
		RequireUniqueNames: true,
	})
}

// testImage is an image with fakeagent in it, for as long as the test runs.
func testImage(t *testing.T) string {
	t.Helper()
	image, err := dockertest.Build(append(dockertest.Programs(), "fakeagent", gitHTTP(t))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dockertest.Remove(image); err != nil {
			t.Error(err)
		}
	})
	return image
}

// gitHTTP returns the path of the program by which git speaks with a server.
func gitHTTP(t *testing.T) string {
	t.Helper()
	core, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(core)), "git-remote-http")
}

// newProject is a project's name that no other test has.
func newProject() string {
	b := make([]byte, 5)
	rand.Read(b) // never fails
	return "aft" + hex.EncodeToString(b)
}

// containersOf are the containers of a project, by name.
func containersOf(project string) ([]string, error) {
	out, err := dockertest.Docker(nil, "ps", "-a", "--filter", "name=^"+project+"-", "--format", "{{.Names}}")
	return strings.Fields(out), err
}

func removeContainers(t *testing.T, project string) {
	names, err := containersOf(project)
	if err == nil && len(names) > 0 {
		_, err = dockertest.Docker(nil, append([]string{"rm", "-f"}, names...)...)
	}
	if err != nil {
		t.Error(err)
	}
}

// ownengine: from here on the script's docker is an engine of its own, that has the
// image. killengine is its SIGKILL, startengine [FLAG...] starts it again, suspendengine and
// resumeengine are SIGSTOP and SIGCONT.
func ownEngine(ts *testscript.TestScript, neg bool, args []string) {
	e, err := dockertest.StartEngine()
	ts.Check(err)
	ts.Defer(func() { ts.Check(errors.Join(e.Resume(), e.Close())) })
	ts.Check(e.Load(ts.Getenv("AGENTFORM_VAR_image")))
	ts.Setenv("DOCKER_HOST", e.Host())
	ts.SetCmd("killengine", func(*testscript.TestScript, bool, []string) { ts.Check(e.Kill()) })
	ts.SetCmd("suspendengine", func(*testscript.TestScript, bool, []string) { ts.Check(e.Suspend()) })
	ts.SetCmd("resumeengine", func(*testscript.TestScript, bool, []string) { ts.Check(e.Resume()) })
	ts.SetCmd("startengine", func(_ *testscript.TestScript, _ bool, flags []string) { ts.Check(e.Start(flags...)) })
}

// nobody CODE COMMAND...: the command, run by a user who is not root, ends with that
// exit code. Root's may be run by nobody only where it was let in.
func nobody(ts *testscript.TestScript, neg bool, args []string) {
	if os.Getuid() == 0 {
		args = append([]string{args[0], "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, args[1:]...)
	}
	exits(ts, neg, args)
}

// smalldisk FOLDER: the directory becomes a disk of 12 MB, until the end. Only root may do
// that: anybody else has to be allowed sudo without a password.
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	asRoot := func(argv ...string) {
		if os.Getuid() != 0 {
			argv = append([]string{"sudo", "-n"}, argv...)
		}
		ts.Check(ts.Exec(argv[0], argv[1:]...))
	}
	asRoot("mount", "-t", "tmpfs", "-o", "size=12m,mode=0777", "tmpfs", dir)
	ts.Defer(func() { asRoot("umount", "--lazy", dir) })
}

// containers prints the containers of the script's project.
func containers(ts *testscript.TestScript, neg bool, args []string) {
	names, err := containersOf(ts.Getenv("AGENTFORM_VAR_project"))
	ts.Check(err)
	_, err = ts.Stdout().Write([]byte(strings.Join(names, "\n")))
	ts.Check(err)
}
