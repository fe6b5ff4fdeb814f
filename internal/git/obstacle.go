package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Obstacles are why a checkout cannot move along with its branch, as git merge moves it.
type Obstacles struct {
	Busy        string   // the operation under way: merge, rebase, cherry-pick, revert, bisect, am
	Unmerged    []string // files whose conflicts are not resolved
	Overwritten []string // files with uncommitted changes, and untracked ones, that would be overwritten
	Hidden      bool     // git status does not show some of Overwritten
}

// FindObstacles returns what keeps the checkout at a path from moving from a commit to another
// commit or tree; an empty one is not known yet. more are files that the move changes besides.
// Like git merge, it lets the move overwrite ignored files, and keep a file whose content in
// the index is already the new one. It is stricter where git merge would undo an uncommitted
// removal or replacement of a file.
func FindObstacles(ctx context.Context, at, from, to string, more []string) (o Obstacles, err error) {
	d, err := findDirs(at)
	if err != nil {
		return o, err
	}
	o.Busy = d.busy()
	out, err := run(ctx, at, "status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
	if err != nil {
		return o, err
	}
	var m move
	if to != "" {
		if m, err = moveOf(ctx, at, from, to, more); err != nil {
			return o, err
		}
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		kind, rest, _ := strings.Cut(entry, " ")
		fields := strings.SplitN(rest, " ", fieldsOf[kind])
		if len(fields) == 0 || len(fields) != fieldsOf[kind] {
			return o, fmt.Errorf("git status printed %q", entry)
		}
		name := fields[len(fields)-1]
		switch {
		case kind == "u":
			o.Unmerged = append(o.Unmerged, name)
		case kind == "1" && m.overwrites(name, inIndex(at, name, fields[3]+" "+fields[6])),
			kind == "?" && m.overwrites(strings.TrimSuffix(name, "/"), ""): // a repository ends in a slash
			o.Overwritten = append(o.Overwritten, name)
		}
	}
	hidden, err := examiner{top: at, dirs: d, git: Here(at)}.hidden(ctx, at, d)
	for _, name := range hidden {
		if m.overwrites(name, "") {
			o.Overwritten, o.Hidden = append(o.Overwritten, name), true
		}
	}
	slices.Sort(o.Overwritten)
	o.Overwritten = slices.Compact(o.Overwritten)
	return o, err
}

// inIndex returns the mode and object of a file in the index, and nothing if something else has
// taken the place of a file that was removed there: git would remove that too, or refuse.
func inIndex(at, name, entry string) string {
	if !strings.HasPrefix(entry, removed) {
		return entry
	}
	if _, err := os.Lstat(filepath.Join(at, name)); !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	for dir := range above(name) {
		if fi, err := os.Lstat(filepath.Join(at, dir)); err == nil && !fi.IsDir() {
			return "" // a link
		}
	}
	return entry
}

// fieldsOf are the numbers of fields behind the kind of an entry of git status.
var fieldsOf = map[string]int{
	"#": 1,  // about the branch
	"1": 8,  // XY sub mH mI mW hH hI path
	"u": 10, // XY sub m1 m2 m3 mW h1 h2 h3 path
	"?": 1,  // path
}

// move is what the files that differ between two trees become.
type move struct {
	files   map[string]string // name → mode and object
	parents map[string]bool   // directories of those that are there afterwards
}

// removed begins the value of a file that is removed.
const removed = "000000 "

func moveOf(ctx context.Context, at, from, to string, more []string) (m move, err error) {
	m = move{map[string]string{}, map[string]bool{}}
	out, err := run(ctx, at, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none", from, to)
	if err != nil {
		return m, err
	}
	words := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for ; len(words) > 1; words = words[2:] {
		// :100644 100644 OLD NEW M
		fields := strings.Fields(words[0])
		if len(fields) != 5 {
			return m, fmt.Errorf("git diff-tree printed %q", words[0])
		}
		m.files[words[1]] = fields[1] + " " + fields[3]
	}
	for _, name := range more {
		m.files[name] = "unknown"
	}
	for name, becomes := range m.files {
		if strings.HasPrefix(becomes, removed) {
			continue
		}
		for dir := range above(name) {
			m.parents[dir] = true
		}
	}
	return m, nil
}

// overwrites reports whether the move writes or removes a file whose mode and object in the
// index are others, or needs its place for a directory, or that of a directory above it for a file.
func (m move) overwrites(name, index string) bool {
	if becomes, changes := m.files[name]; changes {
		return becomes != index
	}
	for dir := range above(name) {
		if becomes, changes := m.files[dir]; changes && !strings.HasPrefix(becomes, removed) {
			return true
		}
	}
	return m.parents[name]
}

// above yields the directories that a file is in, the innermost first.
func above(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := strings.LastIndexByte(name, '/'); i > 0 && yield(name[:i]); {
			i = strings.LastIndexByte(name[:i], '/')
		}
	}
}

// Uncommitted returns the files that are not committed in the checkout that git runs in.
func Uncommitted(ctx context.Context, git Runner) (names []string, err error) {
	out, err := status(ctx, git, "all", "dirty")
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) > 3 && !strings.HasPrefix(entry, "## ") {
			names = append(names, strings.TrimSuffix(entry[3:], "/"))
		}
	}
	return names, err
}

// Overwritten returns the files that another commit adds and that are in the checkout at a path, which
// has all of a commit: they are not committed, ignored ones among them, which git overwrites.
func Overwritten(ctx context.Context, at, from, to string) (names []string, err error) {
	out, err := run(ctx, at, "diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", from, to)
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(at, name)); err == nil && name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}
