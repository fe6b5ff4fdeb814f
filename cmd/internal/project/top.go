package project

import (
	"context"
	"path/filepath"

	"github.com/agentform/agentform/internal/git"
)

// FromTop returns a function that names the project's files relative to the top of the repository.
func FromTop(ctx context.Context, p *Project) func(file string) string {
	top, err := git.Toplevel(ctx, p.Manifest.Root)
	if err != nil {
		top = p.Manifest.Root // without a repository or git, the project's directory
	}
	return func(file string) string { return from(top, p.Manifest.Root, file) }
}

// from returns a file's path relative to the top of the repository, if it is there.
func from(top, root, file string) string {
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if rel, err := filepath.Rel(top, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return file
}
