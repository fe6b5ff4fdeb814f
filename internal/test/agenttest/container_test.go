//go:build agents

package agenttest_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/agenttest"
	"github.com/agentform/agentform/session"
)

func docker(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// image makes an image without any software: what an agent needs is mounted.
func image(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, dir := range []string{"usr", "tmp", "etc", "proc", "dev", "sys"} {
		if err := w.WriteHeader(&tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := w.WriteHeader(&tar.Header{Name: link, Typeflag: tar.TypeSymlink, Linkname: "usr/" + link}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	id := docker(t, b.Bytes(), "import", "-")
	t.Cleanup(func() { docker(t, nil, "rmi", "-f", id) })
	return id
}

// contained is a lab whose Codex runs in a container, at the same paths.
func contained(t *testing.T) (lab *agenttest.Lab, name string) {
	t.Helper()
	lab = agenttest.New(t, "codex")
	found, err := filepath.Glob(filepath.Join(os.Getenv(agenttest.Folder), "node_modules/@openai/codex-*/vendor/*/bin/codex"))
	if err != nil || len(found) != 1 {
		t.Fatalf("Codex's own binary: %q, %v", found, err)
	}
	root := filepath.Dir(lab.Home)
	name = "agenttest-" + filepath.Base(root)
	id := image(t)
	lab.Spec.Command = []string{ // with an environment of its own, without DOCKER_HOST
		"docker", "-H", cmp.Or(os.Getenv("DOCKER_HOST"), "unix:///var/run/docker.sock"), "run", "-it", "--rm", "--name", name, "--network", "host", "-w", lab.Dir,
		"-v", "/usr:/usr:ro", "-v", root + ":" + root, "-v", filepath.Dir(filepath.Dir(found[0])) + ":/opt/codex:ro",
	}
	for variable := range lab.Env {
		if variable != "PATH" {
			lab.Spec.Command = append(lab.Spec.Command, "-e", variable)
		}
	}
	lab.Spec.Command = append(lab.Spec.Command, id, "/opt/codex/bin/codex")
	t.Cleanup(func() {
		// Gone already is as good; its processes are looked for by the lab.
		_ = exec.Command("docker", "rm", "-f", name).Run()
	})
	return lab, name
}

func sandboxed(in *session.StartInput) { in.Sandbox = true }

// Its own binary needs nothing of an image; its hooks and its rollout are seen
// from outside, where their folders are the same.
func TestCodexInAContainer(t *testing.T) {
	t.Parallel()
	lab, name := contained(t)
	run := lab.Start("go [[tool bash: touch made]] [[text It is made.]]", permissions("all"), sandboxed)
	look := run.Until("a turn", both(turns(1), told("Stop")))
	if look.Transcript.Dir != lab.Dir || look.Transcript.LastMessage != "It is made." {
		lab.Moved("a rollout in a container is that of any other session", "%+v", *look.Transcript)
	}
	if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err != nil {
		lab.Moved("permissions = \"all\" lets tools run in a container", "%v", err)
	}
	docker(t, nil, "kill", name)
	run.Until("it is gone", exited)
	lab.UntilNone()
}

// Its sandbox needs what a container does not have. Then no command runs, and
// only what it says of that tells.
func TestCodexsOwnSandboxInAContainer(t *testing.T) {
	t.Parallel()
	lab, _ := contained(t)
	run := lab.Start("go [[tool bash: touch made]] [[text It is made.]]", permissions("edits"), sandboxed)
	run.Until("a turn", turns(1))
	if _, err := os.Stat(filepath.Join(lab.Dir, "made")); err == nil {
		lab.Moved("its sandbox does not work in a container", "the command ran")
	}
	if text := fmt.Sprintf("%s", run.Lines()); !strings.Contains(text, "No permissions to create") {
		lab.Moved("its sandbox says in a container: No permissions to create a new namespace", "%s", text)
	}
}
