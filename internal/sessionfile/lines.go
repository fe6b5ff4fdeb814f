package sessionfile

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	// whole is the longest file that is read as a whole, in bytes: the work of a
	// day. Of a longer one the first line stands, and its last tail bytes.
	whole = 4 << 20
	tail  = 2 << 20
	// headLimit is the longest first line that stands.
	headLimit = 256 << 10
	// small files are read again when they change: some are written anew each time,
	// and not added to.
	small = 64 << 10
)

// lines is a file as far as it has been read.
type lines struct {
	info  fs.FileInfo // nil: it has not been read
	lines [][]byte    // without their ends
	size  int         // of the lines, in bytes
	read  int64       // up to where lines are whole
	cut   bool        // the middle is missing
	gone  int         // so many lines were taken out of the middle since
}

// same reports whether a file is as it was when it was read.
func (l *lines) same(info fs.FileInfo) bool {
	return l.info != nil && os.SameFile(l.info, info) && l.info.Size() == info.Size() && l.info.ModTime().Equal(info.ModTime())
}

// update reads what is new in a file: what was added, or all of it.
func (l *lines) update(f io.ReaderAt, info fs.FileInfo) error {
	grown := l.info != nil && os.SameFile(l.info, info) && info.Size() >= l.info.Size() && l.info.Size() > small
	if !grown || info.Size()-l.read > tail {
		*l = lines{}
		if err := l.begin(f, info.Size()); err != nil {
			return err
		}
	} else if err := l.add(f, l.read, info.Size()); err != nil {
		return err
	}
	l.info = info
	l.bound()
	return nil
}

// begin reads a file for the first time.
func (l *lines) begin(f io.ReaderAt, size int64) error {
	if size <= whole {
		return l.add(f, 0, size)
	}
	head := make([]byte, headLimit)
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	if first, _, ends := bytes.Cut(head, []byte("\n")); ends {
		l.keep(first)
	}
	l.cut = true
	from := size - tail
	b, err := section(f, from, size)
	if err != nil {
		return err
	}
	end := bytes.IndexByte(b, '\n') + 1
	return l.add(f, from+int64(end), size)
}

// add reads the lines between two offsets. A last one without an end is taken if
// it is whole: some files have only the one.
func (l *lines) add(f io.ReaderAt, from, to int64) error {
	b, err := section(f, from, to)
	if err != nil {
		return err
	}
	l.read = from
	for line := range bytes.Lines(b) {
		if text, ends := bytes.CutSuffix(line, []byte("\n")); ends {
			l.keep(text)
			l.read += int64(len(line))
		} else if json.Valid(line) && to <= small {
			l.keep(line)
		}
	}
	return nil
}

func section(f io.ReaderAt, from, to int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(f, from, to-from))
}

func (l *lines) keep(line []byte) {
	if len(bytes.TrimSpace(line)) > 0 {
		l.lines = append(l.lines, line)
		l.size += len(line)
	}
}

// bound takes out lines from the middle when there are too many.
func (l *lines) bound() {
	if l.size <= whole {
		return
	}
	from := 1
	for ; from < len(l.lines)-1 && l.size > tail; from++ {
		l.size -= len(l.lines[from])
		l.gone++
	}
	l.lines = append(l.lines[:1:1], l.lines[from:]...)
	l.cut = true
}

// modified is when the file was last written to; zero: it has not been read.
func (l *lines) modified() time.Time {
	if l.info == nil {
		return time.Time{}
	}
	return l.info.ModTime()
}
