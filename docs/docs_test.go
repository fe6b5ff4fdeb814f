//go:build real

// Package docs_test runs what the documents say: docs/decisions/0007.
package docs_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/test/executable"
	"github.com/agentform/agentform/session"
)

// onCluster are the documents that TestClusterDocuments runs.
var onCluster = []string{"kubernetes.md", "hub.md"}

func TestDocuments(t *testing.T) {
	bin := build(t)
	for _, path := range documents(t) {
		t.Run(strings.TrimPrefix(path, "../"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			doc := blocks(t, path, string(text))
			if len(doc) == 0 {
				return
			}
			t.Parallel()
			w := newWorld(t, bin)
			for _, b := range doc {
				b.play(t, w)
			}
		})
	}
}

// play does with a block what its kind asks for.
func (b block) play(t *testing.T, w *world) {
	t.Helper()
	switch {
	case b.lang == "console" && b.info == "cluster":
		if !slices.ContainsFunc(onCluster, func(path string) bool { return strings.HasPrefix(b.at, path+":") }) {
			t.Errorf("%s: no test runs the document on a cluster", b.at)
		}
	case b.lang == "console":
		for _, c := range b.commands(t) {
			w.run(t, b, c)
		}
	case b.lang == "hcl" && b.info == "":
		w.check(t, b)
	case b.lang == "hcl" && b.info == "fragment":
		if _, err := config.Format([]byte(b.text())); err != nil {
			t.Errorf("%s: %v", b.at, err)
		}
	case b.lang == "hcl":
		w.write(t, b.info, b.text())
	default:
		for _, line := range b.lines {
			if strings.HasPrefix(strings.TrimPrefix(line, "$ "), "agentform ") && b.lang != "text" {
				t.Errorf("%s: %q stands in a block that is not run; make it a console block", b.at, line)
			}
		}
	}
}

// TestCommandsExist finds the names of commands anywhere in the text.
func TestCommandsExist(t *testing.T) {
	bin := build(t)
	mention := regexp.MustCompile("`agentform ((?:state )?[a-z-]+)[^`]*`")
	seen := map[string]bool{}
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mention.FindAllStringSubmatch(string(text), -1) {
			if seen[m[1]] {
				continue
			}
			seen[m[1]] = true
			words := append(strings.Fields(m[1]), "--help")
			out, err := exec.Command(filepath.Join(bin, "agentform"), words...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "agentform "+m[1]) {
				t.Errorf("%s: there is no command `agentform %s`: %v", path, m[1], err)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("no document names a command")
	}
}

// build makes both programs and puts the stand-ins for the agents beside them.
func build(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	out, err := exec.Command("go", "build", "-o", bin+"/", "../cmd/...").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	stand, err := os.ReadFile("testdata/agent.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range agent.Names() {
		executable.Write(t, filepath.Join(bin, name), stand, 0o755)
	}
	return bin
}

// world is a throw-away machine for one document: a home, a place for sockets
// and a repository in which its commands are run.
type world struct {
	repo     string
	env      []string
	patience time.Duration // for one command of a document
}

func newWorld(t *testing.T, bin string) *world {
	t.Helper()
	// Not t.TempDir: the path of a socket may have 107 bytes.
	dir, err := os.MkdirTemp("/tmp", "agentform-docs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	w := &world{repo: filepath.Join(dir, "shop"), patience: time.Minute}
	for _, d := range []string{"home", "run", "shop"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.env = []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + dir + "/home", "XDG_RUNTIME_DIR=" + dir + "/run", "TMUX_TMPDIR=" + dir + "/run", "TMPDIR=" + dir, "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"),
		"GIT_CONFIG_NOSYSTEM=1", "TERM=xterm-256color", "LANG=C.UTF-8", "USER=you",
	}
	for _, login := range []string{".claude/.credentials.json", ".codex/auth.json", ".gemini/oauth_creds.json"} {
		w.write(t, filepath.Join("..", "home", login), "{}")
	}
	if err := os.CopyFS(filepath.Join(w.repo, "examples"), os.DirFS("../examples")); err != nil {
		t.Fatal(err)
	}
	w.must(t, "git", "config", "--global", "user.name", "You")
	w.must(t, "git", "config", "--global", "user.email", "you@example.invalid")
	w.must(t, "git", "init", "--quiet", "-b", "main")
	w.write(t, ".gitignore", ".agentform/\n")
	w.write(t, "Makefile", "test:\n\t@! grep -n TODO *.md\n")
	for _, name := range []string{"search", "upload", "settings"} {
		w.write(t, name+".md", "# "+name+"\n")
	}
	w.must(t, "git", "add", ".")
	w.must(t, "git", "commit", "--quiet", "-m", "a shop")
	t.Cleanup(func() { w.end(t, filepath.Join(dir, "run")) })
	return w
}

// end leaves nothing behind: whatever the document left running ends with the
// tmux servers on this world's sockets.
func (w *world) end(t *testing.T, run string) {
	t.Helper()
	_, _ = w.sh("agentform destroy --auto-approve")
	sockets, err := filepath.Glob(filepath.Join(run, "agentform", "*", "tmux-*"))
	if err != nil {
		t.Error(err)
	}
	for _, s := range sockets {
		if out, err := exec.Command("tmux", "-S", s, "kill-server").CombinedOutput(); err == nil {
			t.Logf("ended the tmux server on %s: %s", s, out)
		}
	}
}

func (w *world) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(w.repo, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// must runs a program of the world's PATH, which has to succeed.
func (w *world) must(t *testing.T, argv ...string) {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-c", `exec "$@"`, "sh"}, argv...)...)
	cmd.Dir, cmd.Env = w.repo, w.env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}

// check loads a block as a manifest of its own.
func (w *world) check(t *testing.T, b block) {
	t.Helper()
	const file = "snippet.hcl"
	w.write(t, file, b.text())
	defer func() { _ = os.Remove(filepath.Join(w.repo, file)) }()
	_, problems := config.Load(config.Options{Dir: w.repo, Files: []string{file}, Environ: w.env, Builtins: agent.Builtins(), Version: "0.1.0"})
	for _, p := range problems {
		if p.Severity == session.Error {
			t.Errorf("%s: %v", b.at, p)
		}
	}
}

// run runs one command and holds what it prints against what is shown.
func (w *world) run(t *testing.T, b block, c command) {
	t.Helper()
	out, code := w.sh(c.line)
	if code != c.exit {
		t.Fatalf("%s: $ %s\nexit %d, want %d\n%s", b.at, c.line, code, c.exit, out)
	}
	lines := strings.Split(out, "\n")
	for _, want := range c.shown {
		at := slices.IndexFunc(lines, pattern(want).MatchString)
		if at < 0 {
			t.Errorf("%s: $ %s\nshows %q, not found (in this order) in what it printed:\n%s", b.at, c.line, want, out)
			return
		}
		lines = lines[at+1:]
	}
}

// sh runs a line in the repository and returns what it printed and its exit
// status; -1 when it took too long.
func (w *world) sh(line string) (string, int) {
	ctx, cancel := context.WithTimeout(context.Background(), w.patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Dir, cmd.Env, cmd.WaitDelay = w.repo, w.env, time.Second
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return string(out) + err.Error(), -1
	}
	return string(out), cmd.ProcessState.ExitCode()
}
