// Package scaffold writes the first manifest of a repository.
package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/cmd/internal/view"
	"github.com/agentform/agentform/config"
	"github.com/agentform/agentform/internal/environ"
	"github.com/agentform/agentform/internal/git"
)

// ManifestFile is the name of the file that is written.
const ManifestFile = "agentform.hcl"

// First describes the first manifest.
type First struct {
	Agent string
	Trust bool
	Hub   bool
	Base  string // branch that new branches start from; empty: HEAD
}

// Text returns the manifest.
func (f First) Text() string {
	var hub, agent, workspace string
	if f.Hub {
		hub = `
agentform {
  hub = "auto" # apply starts the hub, which restarts agents that exit
}
`
	}
	if f.Trust {
		agent = fmt.Sprintf(`
agent "%s" {
  trust = true # starts without asking whether to trust the folder
}
`, f.Agent)
	}
	if f.Base != "" { // git allows quotes and ${ in a branch's name
		workspace = fmt.Sprintf(`
  workspace {
    base = %s # where the branch starts
  }
`, config.Quote(f.Base))
	}
	return fmt.Sprintf(`# The coding-agent sessions of this repository.
#
#   agentform plan      show what apply would do, and why
#   agentform apply     do it
#   agentform status    show the status of all sessions
#   agentform attach NAME
%s%s
session "first" {
  agent  = "%s"
  branch = "agents/first" # its own branch, in its own worktree

  prompt = "Read the README, then say in a few sentences what this repository is for."
%s}
`, hub, agent, f.Agent, workspace)
}

// CheckNone returns an error if a directory has a manifest.
func CheckNone(dir, next string) error {
	for _, pattern := range []string{"*agentform.hcl", "*.agentform.json"} {
		there, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return err
		}
		if len(there) > 0 {
			return fmt.Errorf("%s already exists\n%s", there[0], next)
		}
	}
	return nil
}

// WriteNew creates a file. If it fails, it leaves no part of one.
func WriteNew(path string, text []byte, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// Ignore adds a line to the .gitignore of a directory. It does not touch a link, which git does not
// read.
func Ignore(dir, line string) (added bool, err error) {
	path := filepath.Join(dir, ".gitignore")
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("add %s to .gitignore: %w", line, err)
	}
	bare := strings.Trim(line, "/")
	if slices.ContainsFunc(strings.Split(string(text), "\n"), func(l string) bool { return strings.Trim(strings.TrimSpace(l), "/") == bare }) {
		return false, nil
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	if err := renameio.WriteFile(path, append(text, line+"\n"...), 0o644); err != nil {
		return false, fmt.Errorf("add %s to .gitignore: %w", line, err)
	}
	return true, nil
}

// Repository is where a first manifest is written.
type Repository struct {
	dir, root string
	Installed []string // the agents
	tmux      bool     // is installed
}

// Find looks for a repository without a manifest at a directory.
func Find(ctx context.Context, e environ.Vars, dir string) (Repository, error) {
	r := Repository{dir: dir, Installed: preflight.Host{Environ: e, Dir: dir}.Installed()}
	if err := CheckNone(dir, "agentform validate checks it"); err != nil {
		return r, err
	}
	if _, found := e.Program("git", dir); !found {
		return r, errors.New("git is not on PATH: sessions work on branches of a repository\nInstall git 2.30 or later (apt-get install git, brew install git)")
	}
	_, r.tmux = e.Program("tmux", dir)
	var err error
	if r.root, err = git.Toplevel(ctx, dir); errors.Is(err, git.ErrNotRepository) {
		return r, fmt.Errorf("%s is not in a git repository\ncreate one with: git init", dir)
	}
	return r, err
}

// Write writes the manifest, whose sessions start from the branch that is checked out.
func (r Repository) Write(ctx context.Context, f First) (view.Initialized, error) {
	x := view.Initialized{File: ManifestFile, Agent: f.Agent, Installed: r.Installed, Tmux: r.tmux, Commit: true}
	f.Base = git.Look(r.root).Branch
	if err := WriteNew(filepath.Join(r.dir, ManifestFile), []byte(f.Text()), 0o644); err != nil {
		return x, fmt.Errorf("write the manifest: %w", err)
	}
	if has, err := git.HasCommits(ctx, r.root); err == nil {
		x.Commit = has
	}
	var err error
	x.Ignored, err = Ignore(r.dir, ".agentform/")
	return x, err
}
