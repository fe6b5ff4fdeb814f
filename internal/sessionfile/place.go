package sessionfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// candidates is how many of the newest matching files are examined: a directory may
// hold years of sessions.
const candidates = 64

// place is the directory of a pattern's files, which is never left.
type place struct {
	root *os.Root
	base string // as the pattern has it
	real string // without links
	glob string // with slashes
}

// openPlace opens the directory at the start of a pattern. Below the agent's home
// it must not lead outside. The error is fs.ErrNotExist if it does not exist.
func openPlace(pattern, home string) (*place, error) {
	base, rest := literal(filepath.Clean(pattern))
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return nil, err
	}
	if below(base, home) {
		if realHome, err := filepath.EvalSymlinks(home); err != nil || real != realHome && !below(real, realHome) {
			return nil, errors.Join(err, fmt.Errorf("%s leads to %s, outside of the agent's home: it is not followed", base, real))
		}
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	return &place{root: root, base: base, real: real, glob: filepath.ToSlash(rest)}, nil
}

func (p *place) close() { _ = p.root.Close() } // it was only read

// literal splits a pattern behind its last directory before a wildcard. The file
// name is always in rest.
func literal(pattern string) (base, rest string) {
	base = filepath.Dir(pattern)
	for wild(base) {
		base = filepath.Dir(base)
	}
	rest, _ = strings.CutPrefix(pattern, base)
	return base, strings.TrimPrefix(rest, string(filepath.Separator))
}

func wild(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

// below reports whether a path is inside a directory.
func below(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return folder != "" && err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// found is a file that matches a pattern.
type found struct {
	name string // below the place, with slashes
	info fs.FileInfo
}

// files returns the regular files that match, the newest first.
func (p *place) files() []found {
	names, _ := fs.Glob(p.root.FS(), p.glob) // the pattern was made by an agent's adapter: it has no fault
	var all []found
	for _, name := range names {
		if info, err := p.root.Lstat(filepath.FromSlash(name)); err == nil && info.Mode().IsRegular() {
			all = append(all, found{name, info})
		}
	}
	newestFirst(all)
	return all[:min(len(all), candidates)]
}

// path returns a file's path as the agent writes it.
func (p *place) path(f found) string { return filepath.Join(p.base, filepath.FromSlash(f.name)) }

// open opens a file for reading. A pipe in its place does not block.
func (p *place) open(f found) (*os.File, fs.FileInfo, error) {
	file, err := p.root.OpenFile(filepath.FromSlash(f.name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", p.path(f))
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
