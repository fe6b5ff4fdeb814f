package sessionfile

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
)

const (
	// whole is the longest file that is read completely, in bytes: a day's work. Of a
	// longer one the first line and the last tail bytes are kept.
	whole = 4 << 20
	tail  = 2 << 20
	// headLimit is the longest first line that is kept.
	headLimit = 256 << 10
	// small files are read again when they change: some are rewritten, not appended to.
	small = 64 << 10
)

type lines struct {
	info  fs.FileInfo // nil: not read yet
	lines [][]byte    // without line ends
	size  int         // of the lines, in bytes
	read  int64       // offset behind the last complete line
	cut   bool        // the middle is missing
	gone  int         // how many lines were removed from the middle
}

func (l *lines) same(info fs.FileInfo) bool {
	return l.info != nil && os.SameFile(l.info, info) && l.info.Size() == info.Size() && l.info.ModTime().Equal(info.ModTime())
}

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

// add reads the lines between two offsets. An incomplete last line of a small file is
// kept if it is JSON: some files have only one line.
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
