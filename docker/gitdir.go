package docker

import (
	"os"
	"path/filepath"
	"strings"
)

// commonDir is the folder that all checkouts of a repository share.
func commonDir(repo string) string {
	git := filepath.Join(repo, ".git")
	text, err := os.ReadFile(git)
	if err != nil {
		return git // a folder
	}
	dir := strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir: "))
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(repo, dir)
	}
	common, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if err != nil {
		return dir
	}
	if c := strings.TrimSpace(string(common)); filepath.IsAbs(c) {
		return c
	}
	return filepath.Join(dir, strings.TrimSpace(string(common)))
}
