//go:build real

package docker_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/internal/test/wait"
	"github.com/agentform/agentform/session"
)

// asks returns the output of a command, through a file in the run's directory.
func (b *bed) asks(t *testing.T, p session.Location, script string) string {
	t.Helper()
	return b.docker(t, "exec", p.Name, "sh", "-c", script)
}

func TestLimits(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.with = func(d *session.DockerConfig) {
		d.CPUs, d.Memory, d.PIDs, d.ReadOnly = 0.5, 256<<20, 100, true
		d.Mounts = []session.Mount{{Source: b.root, Target: "/root-of-it", ReadOnly: true}}
	}
	p := b.create(t, b.launch(t, "limits"))
	var got []struct {
		HostConfig struct {
			NanoCpus, Memory, PidsLimit      int64
			Privileged, ReadonlyRootfs       bool
			CapDrop, CapAdd, SecurityOpt     []string
			NetworkMode, PidMode, UsernsMode string
		}
		Config struct{ Env []string }
	}
	if err := json.Unmarshal([]byte(b.docker(t, "inspect", p.Name)), &got); err != nil {
		t.Fatal(err)
	}
	h := got[0].HostConfig
	if h.NanoCpus != 5e8 || h.Memory != 256<<20 || h.PidsLimit != 100 || !h.ReadonlyRootfs || h.NetworkMode != "none" {
		t.Errorf("limits: %+v", h)
	}
	if h.Privileged || h.PidMode != "" || !slices.Contains(h.SecurityOpt, "no-new-privileges") {
		t.Errorf("privileges: %+v", h)
	}
	if !slices.ContainsFunc(h.CapDrop, func(c string) bool { return strings.EqualFold(c, "ALL") }) {
		t.Errorf("capabilities dropped: %v, added: %v; want all dropped first", h.CapDrop, h.CapAdd)
	}
	if said := b.asks(t, p, "touch /x /usr/x /root-of-it/x 2>/dev/null; touch /tmp/x && echo tmp"); said != "tmp" {
		t.Errorf("%q", said)
	}
	for _, path := range []string{"/x", "/usr/x", "/root-of-it/x"} {
		if said := b.asks(t, p, "ls "+path+" 2>/dev/null || echo none"); said != "none" {
			t.Errorf("%s was written", path)
		}
	}
	b.send(t, p, "hello")
}

// TestUser checks that the agent runs as the requested user, which can write to the workspace and
// run the shim's program whatever its mode on this machine.
func TestUser(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	self, err := os.ReadFile(b.config.Shim[0])
	if err != nil {
		t.Fatal(err)
	}
	b.config.Shim[0] = filepath.Join(b.config.DataDir, "shim")
	executable.Write(t, b.config.Shim[0], self, 0o700)
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 { // only root can run as another user
		uid, gid = 1234, 2345
	}
	user := strconv.Itoa(uid) + ":" + strconv.Itoa(gid)
	b.with = func(d *session.DockerConfig) { d.User = user }
	l := b.launch(t, "user")
	l.Secrets = map[string]string{"TOKEN": "sesame"}
	if err := os.Chown(l.Dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	l.Argv = []string{"sh", "-c", `touch made "$STATE/there"; echo "$HOME $TOKEN" >"$STATE/said"; ` + agent}
	p := b.create(t, l)
	b.listening(t, p)
	if said := b.state(t, p, "said"); said != "/tmp sesame\n" {
		t.Errorf("its HOME and secret are %q", said)
	}
	info, err := os.Stat(filepath.Join(l.Dir, "made"))
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); int(s.Uid) != uid || int(s.Gid) != gid {
		t.Errorf("what it made is %d:%d's, want %s", s.Uid, s.Gid, user)
	}
	b.send(t, p, "exit 3")
	if l := b.dies(t, p); l.Exit == nil || l.Exit.Code != 3 {
		t.Errorf("exit %+v", l.Exit)
	}
	b.restarts(t, p)
}

// TestSecretsInNoFile checks that no file has a secret once the agent has it.
func TestSecretsInNoFile(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	l := b.launch(t, "secret")
	l.Argv = []string{"sh", "-c", `echo "${TOKEN#open-}" >"$STATE/said"; unset TOKEN; ` + agent}
	l.Secrets = map[string]string{"TOKEN": "open-sesame"}
	p := b.create(t, l)
	b.listening(t, p)
	if said := b.state(t, p, "said"); said != "sesame\n" {
		t.Errorf("the agent did not get it: %q", said)
	}
	launch := filepath.Join(b.config.DataDir, "runs", l.Mark.Run, "environ")
	if strings.Contains(read(launch), "open-sesame") {
		t.Error("the agent passed it on, so nothing below would show")
	}
	err := filepath.WalkDir(b.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(read(path), "open-sesame") {
			t.Errorf("it is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestAttach checks that Attach gives a terminal, and that a pause detaches it.
func TestAttach(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	p := b.create(t, b.launch(t, "attach"))
	b.send(t, p, "say shown in the container")
	before, _ := b.see(t, p)
	terminal := func(args ...string) string {
		out, err := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", filepath.Join(b.root, "terminal")}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	terminal(append([]string{"new-session", "-d", "-x", "100", "-y", "30", "--"}, b.runtime.Attach(p)...)...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", filepath.Join(b.root, "terminal"), "kill-server").Run() })
	terminal("set-option", "-g", "remain-on-exit", "on")
	wait.For(t, "the terminal shows it", func() (any, bool) {
		screen := terminal("capture-pane", "-p")
		return screen, strings.Contains(screen, "shown in the container")
	})
	if l, _ := b.see(t, p); l.Attached != 1 {
		t.Errorf("%d attached", l.Attached)
	}
	if err := b.runtime.Pause(t.Context(), p, before.Mark.Run, session.Detach); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "it is detached", func() (any, bool) {
		gone := terminal("list-panes", "-F", "#{pane_dead}")
		return gone, gone == "1\n"
	})
	if l, _ := b.see(t, p); l.Attached != 0 || !l.InputOff || l.Liveness != session.Alive {
		t.Errorf("%d attached, input off %v, %s", l.Attached, l.InputOff, l.Liveness)
	}
}

// TestTrustedWorktree checks that a trusted worktree includes its repository.
func TestTrustedWorktree(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	repo, tree := filepath.Join(b.root, "repo"), filepath.Join(b.root, "tree")
	for _, args := range [][]string{
		{"init", "-q", "-b", "main", repo},
		{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-q", "--allow-empty", "-m", "first"},
		{"-C", repo, "worktree", "add", "-q", "-b", "mine", tree},
	} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	l := b.launch(t, "tree")
	l.Spec.Workspace = session.Workspace{Mode: session.Worktree, Repo: repo, Path: tree, TrustGit: true}
	out, err := b.runtime.Run(t.Context(), l.Spec, tree, []string{"git", "status", "--short", "--branch"}, nil)
	if err != nil || strings.TrimSpace(out) != "## mine" {
		t.Errorf("%q, %v", out, err)
	}
	l.Spec.Workspace.TrustGit = false
	if out, err := b.runtime.Run(t.Context(), l.Spec, tree, []string{"git", "status"}, nil); err == nil {
		t.Errorf("it has the repository without trust: %q", out)
	}
}
