package filecopy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// Home is the prefix of paths below the agent's home.
	Home = "/~"
	// chunk bounds the file data in one answer, in bytes. Encoded as JSON, with the signals of a
	// run, an answer stays below a MiB.
	chunk = 256 << 10
	// atOnce is how many answers one Pull requests. The next Pull continues.
	atOnce = 16
	// most is how many files are copied, the newest ones.
	most = 64
	// depth is how far below a directory the files are: those of Claude Code's sub-agents have
	// five elements.
	depth = 6
	// tail is how many bytes at the end of a copy are compared. A file that was rewritten is copied
	// from its start.
	tail = 4 << 10
)

// File is a session file, or the state of its copy.
type File struct {
	Path    string    `json:"path"` // absolute in the container, or below Home
	Size    int64     `json:"size"`
	Changed time.Time `json:"changed"`
	// Tail is a hash of the last bytes of the copy.
	Tail string `json:"tail,omitempty"`
	// Data holds the file's content from byte From on, in an answer.
	From int64  `json:"from,omitempty"`
	Data []byte `json:"data,omitempty"`
}

// Read returns the files below directories that differ from their copies, with at most a chunk of
// new data in all. more reports whether there is more. Paths below Home are below home.
func Read(home string, folders []string, known []File) (files []File, more bool) {
	has := make(map[string]File, len(known))
	for _, k := range known {
		has[k.Path] = k
	}
	room := int64(chunk)
	for _, f := range find(home, folders) {
		k := has[f.Path]
		if k.Size == f.Size && k.Changed.Equal(f.Changed) {
			continue
		}
		if room <= 0 {
			return files, true
		}
		if !f.read(home, k, room) {
			continue // it is gone
		}
		room -= int64(len(f.Data))
		more = more || f.From+int64(len(f.Data)) < f.Size
		files = append(files, f)
	}
	return files, more
}

// find returns the newest files below directories, skipping those it cannot read.
func find(home string, folders []string) (all []File) {
	for _, folder := range folders {
		top := inside(home, folder)
		_ = filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
			switch rel, _ := filepath.Rel(top, p); {
			case err != nil && e != nil && e.IsDir():
				return fs.SkipDir
			case err != nil:
				return nil
			case e.IsDir() && strings.Count(rel, "/") >= depth:
				return fs.SkipDir
			case !e.Type().IsRegular() || !isSessionFile(p):
				return nil
			default:
				if info, err := e.Info(); err == nil {
					all = append(all, File{Path: path.Join(folder, rel), Size: info.Size(), Changed: info.ModTime().UTC()})
				}
				return nil
			}
		})
	}
	slices.SortFunc(all, func(a, b File) int { return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.Path, b.Path)) })
	all = slices.CompactFunc(all, func(a, b File) bool { return a.Path == b.Path })
	return all[:min(len(all), most)]
}

func isSessionFile(name string) bool {
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".json")
}

// inside returns the path of a file in the container.
func inside(home, name string) string {
	if rest, ok := strings.CutPrefix(name, Home+"/"); ok {
		return filepath.Join(home, rest)
	}
	return filepath.Clean(name)
}

// read sets the data that the copy lacks, at most limit bytes, and reports whether the file could
// be read.
func (f *File) read(home string, k File, limit int64) bool {
	r, err := openRegular(inside(home, f.Path))
	if err != nil {
		return false
	}
	defer r.Close()
	if k.Size > 0 && k.Size <= f.Size && k.Tail == tailOf(r, k.Size) {
		f.From = k.Size
	}
	f.Data, err = io.ReadAll(io.NewSectionReader(r, f.From, min(limit, f.Size-f.From)))
	return err == nil
}

func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// tailOf returns a hash of the bytes before an offset, or "" if they cannot be read.
func tailOf(f io.ReaderAt, end int64) string {
	b := make([]byte, min(end, tail))
	if _, err := f.ReadAt(b, end-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
		return ""
	}
	h := fnv.New64a()
	_, _ = h.Write(b) // never fails
	return strconv.FormatUint(h.Sum64(), 16)
}

// Pull updates the copies in a directory. ask sends the state of the copies to the init and returns
// its answer; it is called at least once.
func Pull(dir string, ask func(known []File) (files []File, more bool, err error)) error {
	for range atOnce {
		known, err := Known(dir)
		if err != nil {
			return err
		}
		files, more, err := ask(known)
		if err == nil && len(files) > 0 {
			err = write(dir, files)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// Known returns the state of the copies in a directory; nothing if it does not exist.
func Known(dir string) (all []File, err error) {
	err = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || !isSessionFile(p) {
			return err
		}
		f, err := openRegular(p)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		all = append(all, File{Path: "/" + filepath.ToSlash(rel), Size: info.Size(), Changed: info.ModTime().UTC(), Tail: tailOf(f, info.Size())})
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // also if another process has just replaced the file
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the copies of session files: %w", err)
	}
	slices.SortFunc(all, func(a, b File) int { return b.Changed.Compare(a.Changed) })
	return all[:min(len(all), most)], nil
}

func write(dir string, files []File) error {
	fail := func(err error) error { return fmt.Errorf("copy session files: %w", err) }
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fail(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	for _, f := range files {
		name := filepath.FromSlash(strings.TrimPrefix(path.Clean(f.Path), "/"))
		if !filepath.IsLocal(name) || !isSessionFile(name) || len(f.Data) > chunk || f.From < 0 {
			return fail(fmt.Errorf("the container's init answered with an invalid file %.80q", f.Path))
		}
		if err := f.writeTo(root, name); err != nil {
			return fail(err)
		}
	}
	return nil
}

// writeTo writes the file or its new part. Concurrent copies write the same bytes at the same
// place.
func (f *File) writeTo(root *os.Root, name string) error {
	if f.From == 0 {
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		temporary := name + "." + strconv.FormatInt(time.Now().UnixNano(), 36) + ".new"
		w, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, bytes.NewReader(f.Data))
		if err = errors.Join(err, w.Close()); err == nil {
			err = root.Rename(temporary, name)
		}
		if err != nil {
			return errors.Join(err, root.Remove(temporary))
		}
		return root.Chtimes(name, f.Changed, f.Changed)
	}
	w, err := root.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile: the next copy starts from the beginning
	}
	if err != nil {
		return err
	}
	defer w.Close()
	if info, err := w.Stat(); err != nil || info.Size() < f.From {
		return err
	}
	if _, err := w.WriteAt(f.Data, f.From); err != nil {
		return err
	}
	return root.Chtimes(name, f.Changed, f.Changed)
}
