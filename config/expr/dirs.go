package expr

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentform/agentform/internal/fileid"
)

// Dirs are the directories of a project, and what was read in them.
type Dirs struct {
	Root   string // the project directory
	Module string // the directory of the manifests; Root, unless Options.Files names another
	Env    map[string]string
	Repos  map[string]string // directory to the top of its repository, "" for none
	Texts  map[string]string // path to content, of files that functions read
}

// Display returns a path for messages: relative if it is in the project directory.
func (d *Dirs) Display(path string) string {
	if rel, err := filepath.Rel(d.Root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// InProject returns a path that is relative to the project directory as an absolute one.
func (d *Dirs) InProject(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(d.Root, path)
}

// Resolve returns a path of a manifest as an absolute one. ~ is the home directory. Links
// above the last element are followed, so that each directory has one path.
func (d *Dirs) Resolve(path, base string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		if rest != "" && rest[0] != '/' {
			return "", fmt.Errorf("%q: only ~/ is supported, not another user's home", path)
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
	return filepath.Join(fileid.Resolve(filepath.Dir(path)), filepath.Base(path)), nil
}

// Repository returns the top of the git repository, or worktree, of a directory, or "".
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

func (d *Dirs) readText(name string, secret bool) (string, error) {
	full, err := d.confine(name, secret)
	if err != nil {
		return "", err
	}
	if text, ok := d.Texts[full]; ok {
		return text, nil
	}
	src, err := readRegular(full, quote(name, secret))
	if err != nil {
		return "", err
	}
	if !utf8.Valid(src) {
		return "", fmt.Errorf("%s is not UTF-8 text", quote(name, secret))
	}
	d.Texts[full] = string(src)
	return string(src), nil
}

// quote returns a file's name for a message, unless it is sensitive.
func quote(name string, secret bool) string {
	if secret {
		return "(sensitive value)"
	}
	return strconv.Quote(name)
}

// readRegular reads a regular file. quoted is its name in errors.
func readRegular(full, quoted string) ([]byte, error) {
	if info, err := os.Stat(full); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", quoted)
	}
	src, err := ReadFile(full)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %s", quoted, Reason(err))
	}
	return src, nil
}

type absent struct{ error }

// confine returns the real path of a file that functions may read: it is in the repository,
// or, without one, in the directory of the manifests.
func (d *Dirs) confine(name string, secret bool) (string, error) {
	quoted, full := quote(name, secret), name
	if !filepath.IsAbs(full) {
		full = filepath.Join(d.Module, full)
	}
	top := cmp.Or(d.Repository(d.Module), d.Module)
	outside := fmt.Errorf("%s is outside %s, and file functions read only what is inside", quoted, top)
	if !Within(top, full) {
		return "", outside
	}
	real, err := filepath.EvalSymlinks(full)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", absent{fmt.Errorf("there is no %s in %s", quoted, d.Module)}
	case err != nil:
		return "", fmt.Errorf("%s cannot be read: %s", quoted, Reason(err))
	case !Within(top, real):
		return "", outside
	}
	return real, nil
}

// Within reports whether path is dir or below it.
func Within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// ReadFile reads a file of at most MaxFile bytes.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err == nil && len(src) > MaxFile {
		err = fmt.Errorf("larger than %d MiB", MaxFile>>20)
	}
	return src, err
}

// Reason returns the text of a file system error without the path.
func Reason(err error) string {
	if p, is := errors.AsType[*fs.PathError](err); is {
		return p.Err.Error()
	}
	return err.Error()
}
