//go:build real

package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentform/agentform/internal/test/gitserver"
)

// bareShell runs commands with the environment of an image and more variables.
func bareShell(t testing.TB, more ...string) Shell {
	t.Helper()
	home := t.TempDir()
	return func(ctx context.Context, stdin io.Reader, stdout io.Writer, argv ...string) error {
		c := exec.CommandContext(ctx, argv[0], argv[1:]...)
		c.Dir, c.Env, c.Stdin, c.Stdout = "/", append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, more...), stdin, stdout
		var said bytes.Buffer
		c.Stderr = &said
		if err := c.Run(); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
		}
		return nil
	}
}

const password = "hunter2 \"$`'\\%s"

func remoteVolume(t *testing.T) Volume {
	return Volume{Path: filepath.Join(t.TempDir(), "a b", "it's $x"), Run: bareShell(t)}
}

// TestRemoteClone clones from a server with a password, on each kind of branch.
func TestRemoteClone(t *testing.T) {
	t.Parallel()
	own := password + " of a clone"
	s := gitserver.Start(t, "127.0.0.1", own)
	main := gitserver.Git(t, s.Dir, "rev-parse", "main")
	gitserver.Git(t, s.Dir, "branch", "other", "main")
	other := gitserver.Git(t, s.Dir, "commit-tree", "-m", "more", "-p", "main", "main^{tree}")
	gitserver.Git(t, s.Dir, "update-ref", "refs/heads/other", other)
	gitserver.Git(t, s.Dir, "tag", "v1", "main")
	for name, test := range map[string]struct {
		branch, base, at string
		made             bool
	}{
		"new":                  {branch: "agents/web", at: main, made: true},
		"new, from a branch":   {branch: "agents/web", base: "other", at: other, made: true},
		"new, from a tag":      {branch: "agents/web", base: "v1", at: main, made: true},
		"new, from a commit":   {branch: "agents/web", base: other, at: other, made: true},
		"the server's":         {branch: "other", base: "v1", at: other},
		"the server's default": {branch: "main", at: main},
	} {
		t.Run(name, func(t *testing.T) {
			v := remoteVolume(t)
			made, err := v.AddRemoteClone(t.Context(), Server{URL: s.URL, Secret: "TOKEN", Password: own, Name: "Team", Mail: "team@example.org"}, test.branch, test.base)
			if err != nil || made != test.made {
				t.Fatalf("made %v, %v", made, err)
			}
			if co := v.Look(t.Context()); co.Err != nil || co.Branch != test.branch {
				t.Errorf("%+v", co)
			}
			if at := gitserver.Git(t, v.Path, "rev-parse", "HEAD"); at != test.at {
				t.Errorf("at %s, want %s", at, test.at)
			}
			if start, err := v.Start(t.Context(), test.branch); start != test.at {
				t.Errorf("made from %s, %v; want %s", start, err, test.at)
			}
			if mail := gitserver.Git(t, v.Path, "config", "--local", "user.email"); mail != "team@example.org" {
				t.Errorf("commits bear %q", mail)
			}
			holdsNo(t, filepath.Dir(v.Path), own)
			if _, err := v.AddRemoteClone(t.Context(), Server{URL: s.URL, Secret: "TOKEN", Password: own}, test.branch, test.base); err == nil || !strings.Contains(err.Error(), "it is a clone already") {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// holdsNo fails the test if a file below a directory, or one in memory, has the text.
func holdsNo(t *testing.T, dir, text string) {
	t.Helper()
	for _, dir := range []string{dir, "/dev/shm"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil // it was removed just now
			}
			if b, _ := os.ReadFile(path); bytes.Contains(b, []byte(text)) {
				t.Errorf("%s has the password", path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestRemotePush shows that whoever has the secret pushes from the clone, by a variable or by a
// file, and what is at risk before and after.
func TestRemotePush(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "it is a password")
	write(t, file, password)
	for name, from := range map[string]Server{
		"variable": {Secret: "TOKEN", Password: password},
		"file":     {Secret: "TOKEN", File: file},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := gitserver.Start(t, "127.0.0.1", password)
			from.URL = s.URL
			v := remoteVolume(t)
			branch := "agents/" + name
			if _, err := v.AddRemoteClone(t.Context(), from, branch, ""); err != nil {
				t.Fatal(err)
			}
			agent := bareShell(t, "TOKEN="+password)
			in := func(args ...string) error {
				return agent(t.Context(), nil, io.Discard, append([]string{"git", "-C", v.Path, "-c", "user.name=a", "-c", "user.email=a@example.invalid"}, args...)...)
			}
			look := Volume{Path: v.Path, Run: v.Run, Server: &from}
			if risk, err := look.Risk(t.Context(), s.URL); err != nil || risk.Any() {
				t.Errorf("of a new clone: %s, %v", risk, err)
			}
			if err := in("commit", "-q", "--allow-empty", "-m", "work"); err != nil {
				t.Fatal(err)
			}
			if risk, err := look.Risk(t.Context(), s.URL); err != nil || risk.Lacking != 1 {
				t.Errorf("before it is pushed: %+v, %v", risk, err)
			}
			if err := in("push", "-q"); err != nil {
				t.Fatal(err)
			}
			if risk, err := look.Risk(t.Context(), s.URL); err != nil || risk.Any() {
				t.Errorf("after it was pushed: %+v, %v", risk, err)
			}
			if err := in("reset", "-q", "--hard", "HEAD^"); err != nil {
				t.Fatal(err)
			}
			if risk, err := look.Risk(t.Context(), s.URL); err != nil || risk.Any() {
				t.Errorf("after a reset to a commit that was pushed: %+v, %v", risk, err)
			}
			gitserver.Git(t, s.Dir, "update-ref", "-d", "refs/heads/"+branch)
			if risk, err := look.Risk(t.Context(), s.URL); err != nil || !risk.Any() {
				t.Errorf("after the branch was removed on the server: %+v, %v", risk, err)
			}
		})
	}
}

// TestRemoteRefuses shows git's own words for what a server refuses, and that nothing is left.
func TestRemoteRefuses(t *testing.T) {
	t.Parallel()
	s := gitserver.Start(t, "127.0.0.1", password)
	for name, test := range map[string]struct {
		from Server
		base string
		says string
	}{
		"wrong password": {Server{URL: s.URL, Secret: "TOKEN", Password: "wrong"}, "", "Authentication failed"},
		"no password":    {Server{URL: s.URL}, "", "could not read Username"},
		"unknown host":   {Server{URL: "http://no-such-host.invalid/shop.git"}, "", "no-such-host.invalid"},
		"no repository":  {Server{URL: strings.Replace(s.URL, "shop", "other", 1), Secret: "TOKEN", Password: password}, "", "not found"},
		"no base":        {Server{URL: s.URL, Secret: "TOKEN", Password: password}, "no-such-branch", "no branch, tag or commit no-such-branch"},
		"two lines":      {Server{URL: s.URL, Secret: "TOKEN", Password: "a\nb"}, "", "more than one line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := remoteVolume(t)
			if _, err := v.AddRemoteClone(t.Context(), test.from, "agents/web", test.base); err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), password) {
				t.Errorf("%v, want %q", err, test.says)
			}
			if left, _ := os.ReadDir(filepath.Dir(v.Path)); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
