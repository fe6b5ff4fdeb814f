package cli

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
	"text/template"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/agentform/agentform/agent"
	"github.com/agentform/agentform/cmd/internal/preflight"
	"github.com/agentform/agentform/internal/git"
	"github.com/agentform/agentform/internal/plaintext"
)

const manifestFile = "agentform.hcl"

func initCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Create a starter manifest",
		Long: `Writes ` + manifestFile + ` for this repository and the agents that are installed, and adds the
data directory to .gitignore. An existing manifest is never overwritten.`,
		Example: "  agentform init",
		RunE:    func(c *cobra.Command, _ []string) error { return runInit(c.Context(), a) },
	}
}

type firstManifest struct {
	Agent string
	Base  string // branch that new branches start from; empty: HEAD
}

var manifestTemplate = template.Must(template.New(manifestFile).Parse(`# The coding-agent sessions of this repository.
#
#   agentform plan      what would be done, and why
#   agentform apply     do it
#   agentform status    how every session is
#   agentform attach NAME

session "first" {
  agent  = "{{.Agent}}"
  branch = "agents/first" # its own branch, in its own worktree

  prompt = "Read the README, then say in a few sentences what this repository is for."
{{- if .Base}}

  workspace {
    base = "{{.Base}}" # where the branch starts
  }
{{- end}}
}
`))

func runInit(ctx context.Context, a *app) error {
	for _, pattern := range []string{"*agentform.hcl", "*.agentform.json"} {
		there, err := fs.Glob(os.DirFS(a.env.Dir), pattern)
		if err != nil {
			return err
		}
		if len(there) > 0 {
			return fmt.Errorf("%s already exists\nagentform validate checks it", there[0])
		}
	}
	if _, found := a.env.Environ.Program("git", a.env.Dir); !found {
		return errors.New("git is not on PATH: sessions work on branches of a repository\nInstall git 2.30 or later (apt-get install git, brew install git)")
	}
	root, err := git.Toplevel(ctx, a.env.Dir)
	if errors.Is(err, git.ErrNotRepository) {
		return fmt.Errorf("%s is not in a git repository\ncreate one with: git init", a.env.Dir)
	}
	if err != nil {
		return err
	}
	installed := preflight.Host{Environ: a.env.Environ, Dir: a.env.Dir}.Installed()
	first := firstManifest{slices.Concat(installed, agent.Names())[0], git.Look(root).Branch}
	var text bytes.Buffer
	if err := manifestTemplate.Execute(&text, first); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(a.env.Dir, manifestFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err == nil {
		_, err = f.Write(text.Bytes())
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	ignored, err := ignore(a.env.Dir, ".agentform/")
	if err != nil {
		return err
	}
	reportInit(a, installed, first, ignored)
	if has, err := git.HasCommits(ctx, root); err == nil && !has {
		fmt.Fprintf(a.env.Stdout, "\nThe repository has no commit yet, and a branch begins at one: %s\n", preflight.FirstCommit)
	}
	fmt.Fprintln(a.env.Stdout, "\nNext: agentform plan")
	return nil
}

func reportInit(a *app, installed []string, first firstManifest, ignored bool) {
	out := a.env.Stdout
	fmt.Fprintf(out, "Wrote %s: one session of %s, on a branch of its own.\n", manifestFile, first.Agent)
	if ignored {
		fmt.Fprintln(out, "Added .agentform/ to .gitignore: state and worktrees stay out of the repository.")
	}
	switch {
	case len(installed) == 0:
		fmt.Fprintf(out, "\nNone of %s is on PATH: install one, or declare your own agent.\n", plaintext.List(agent.Names(), "and"))
	case len(installed) > 1:
		fmt.Fprintf(out, "\nAlso installed: %s.\n", strings.Join(installed[1:], ", "))
	}
	if _, found := a.env.Environ.Program("tmux", a.env.Dir); !found {
		fmt.Fprintln(out, "\ntmux is not on PATH, and sessions live in it: install tmux 3.2 or later.")
	}
}

// ignore leaves a link alone: git does not read it.
func ignore(dir, line string) (added bool, err error) {
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
