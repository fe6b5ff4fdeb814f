package expr

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Dirs are the directories of a project, and what was read in them.
type Dirs struct {
	Root   string // the project directory
	Module string // that of the manifests: the project directory, unless they were named
	Env    map[string]string
	Repos  map[string]string // directory → top of the repository that it is in, "" for none
	Texts  map[string]string // files that functions read
}

// Display is a path as messages call it: relative when it lies in the project
// folder.
func (d *Dirs) Display(path string) string {
	if rel, err := filepath.Rel(d.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// InProject returns a path as one from the project directory.
func (d *Dirs) InProject(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.Root, path)
}

// Resolve makes a path of a manifest absolute and clean: ~ is the home folder, a
// relative one is relative to base. Symbolic links above its last element are
// followed, so that one folder has one path.
func (d *Dirs) Resolve(path, base string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", fmt.Errorf("%q: only ~/ is understood, not another user's home", path)
		}
		home := d.Env["HOME"]
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("%q starts with ~, but HOME is not set", path)
		}
		path = home + rest
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	path = filepath.Clean(path)
	rest := []string{filepath.Base(path)}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			slices.Reverse(rest)
			return filepath.Join(append([]string{real}, rest...)...), nil
		}
		if dir == filepath.Dir(dir) {
			return path, nil
		}
		rest = append(rest, filepath.Base(dir))
	}
}

// Repository is the top of the git repository that holds a folder, or "". A .git
// that is a file, as in a worktree or a submodule, counts.
func (d *Dirs) Repository(dir string) string {
	if top, ok := d.Repos[dir]; ok {
		return top
	}
	top := ""
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
		top = dir
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			top = real
		}
	} else if parent := filepath.Dir(dir); parent != dir {
		top = d.Repository(parent)
	}
	d.Repos[dir] = top
	return top
}

// readText is the text of a file of the repository, read once.
func (d *Dirs) readText(name string, secret bool) (string, error) {
	called := fmt.Sprintf("%q", name)
	if secret {
		called = "(sensitive value)"
	}
	full, err := d.confine(name, secret)
	if err != nil {
		return "", err
	}
	if text, ok := d.Texts[full]; ok {
		return text, nil
	}
	src, err := readRegular(full, called)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(src) {
		return "", fmt.Errorf("%s is not a text in UTF-8", called)
	}
	d.Texts[full] = string(src)
	return string(src), nil
}

// readRegular is what a file holds that is no folder and no device.
func readRegular(full, called string) ([]byte, error) {
	if info, err := os.Stat(full); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", called)
	}
	src, err := ReadFile(full)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %s", called, Reason(err))
	}
	return src, nil
}

// absent is the error about a file that is not there.
type absent struct{ error }

// confine is the real path of a file named in a manifest, relative to the folder
// of the manifests. It must lie in the repository, or, without one, in that
// folder, after symbolic links have been followed.
func (d *Dirs) confine(name string, secret bool) (string, error) {
	called := fmt.Sprintf("%q", name)
	if secret {
		called = "(sensitive value)"
	}
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(d.Module, full)
	}
	inside := d.Repository(d.Module)
	if inside == "" {
		inside = d.Module
	}
	lies := func(p string) bool {
		rel, err := filepath.Rel(inside, p)
		return err == nil && filepath.IsLocal(rel)
	}
	outside := fmt.Errorf("%s lies outside of %s, and file functions stay inside", called, inside)
	if !lies(full) {
		return "", outside
	}
	real, err := filepath.EvalSymlinks(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", absent{fmt.Errorf("there is no %s in %s", called, d.Module)}
	case err != nil:
		return "", fmt.Errorf("%s cannot be read: %s", called, Reason(err))
	case !lies(real):
		return "", outside
	}
	return real, nil
}

// ReadFile reads a file of at most maxFile bytes.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(src) > MaxFile {
		err = fmt.Errorf("it is larger than %d MiB", MaxFile>>20)
	}
	return src, err
}

// Reason is an error of the file system without the path, which the message
// names already.
func Reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
