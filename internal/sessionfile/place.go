package sessionfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agentform/agentform/session"
)

// candidates is how many files are examined: a directory may hold years of sessions.
const candidates = 64

// place is the directory of a pattern's files. Nothing outside is read.
type place struct {
	pattern string
	err     error // why it could not be opened; fs.ErrNotExist: it does not exist
	root    *os.Root
	base    string // as the pattern has it
	real    string // without links
	glob    string // with slashes
}

// places yields the places of an agent's session files, each open while it is used.
func places(a session.Agent, of session.Lookup) iter.Seq[*place] {
	return func(yield func(*place) bool) {
		for _, pattern := range a.Files(of) {
			p := &place{pattern: of.Root + pattern}
			p.err = p.open(pattern, of)
			more := yield(p)
			if p.err == nil {
				_ = p.root.Close() // it was only read
			}
			if !more {
				return
			}
		}
	}
}

// open opens the directory at the start of the pattern. Below the agent's home it must
// not lead outside.
func (p *place) open(pattern string, of session.Lookup) (err error) {
	pattern = filepath.Clean(pattern)
	base, home := folder(pattern), of.Root+of.Home
	rest := strings.TrimPrefix(strings.TrimPrefix(pattern, base), string(filepath.Separator))
	p.base = of.Root + base
	p.glob = filepath.ToSlash(rest)
	if p.real, err = filepath.EvalSymlinks(p.base); err != nil {
		return err
	}
	if below(p.base, home) {
		if realHome, err := filepath.EvalSymlinks(home); err != nil || p.real != realHome && !below(p.real, realHome) {
			return errors.Join(err, fmt.Errorf("%s leads to %s, outside of the agent's home: it is not followed", p.base, p.real))
		}
	}
	p.root, err = os.OpenRoot(p.real)
	return err
}

// directory returns the directory of a pattern's files, at the start of the pattern.
func folder(pattern string) string {
	dir := filepath.Dir(pattern)
	for wild(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// Folders returns the directories that contain an agent's session files.
func Folders(a session.Agent, of session.Lookup) (all []string) {
	of.Process.PID = 1 // Claude Code has a file for each process
	for _, pattern := range a.Files(of) {
		all = append(all, folder(filepath.Clean(pattern)))
	}
	return all
}

func wild(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

func below(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return folder != "" && err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

type found struct {
	name string // below the place, with slashes
	info fs.FileInfo
}

// files returns the matching regular files, the newest first.
func (p *place) files() []found {
	names, _ := fs.Glob(p.root.FS(), p.glob) // an adapter's pattern is valid
	var all []found
	for _, name := range names {
		if info, err := p.root.Lstat(filepath.FromSlash(name)); err == nil && info.Mode().IsRegular() {
			all = append(all, found{name, info})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.name, b.name))
	})
	return all[:min(len(all), candidates)]
}

func (p *place) path(f found) string { return filepath.Join(p.base, filepath.FromSlash(f.name)) }

// read opens a file for reading. A pipe in its place does not block the caller.
func (p *place) read(f found) (*os.File, fs.FileInfo, error) {
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
