package sessionfile

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
)

const (
	// whole is the longest file that is read from its beginning, in bytes: a day's work. Of
	// a longer one the first line and the last tail bytes are.
	whole = 4 << 20
	tail  = 2 << 20
	// headLimit is the longest first line of such a file that is read.
	headLimit = 256 << 10
	// small files are read again when they change: some are rewritten, not appended to.
	small = 64 << 10
)

// cursor is how far a file was read. The zero value is before its beginning.
type cursor struct {
	info fs.FileInfo // as of then
	read int64       // offset behind the last complete line
	cut  bool        // the middle was left out
}

func (c *cursor) same(info fs.FileInfo) bool {
	return c.info != nil && os.SameFile(c.info, info) && c.info.Size() == info.Size() && c.info.ModTime().Equal(info.ModTime())
}

// grown reports whether what was read before is still there.
func (c *cursor) grown(info fs.FileInfo) bool {
	return c.info != nil && os.SameFile(c.info, info) && info.Size() >= c.info.Size() && info.Size()-c.read <= tail
}

// next returns the lines that were added since, or all of a file that was not read before.
// It begins again with one that is small, was replaced, or has grown by much.
func (c *cursor) next(f io.ReaderAt, info fs.FileInfo) (lines [][]byte, again bool, err error) {
	if again = !c.grown(info) || c.info.Size() <= small; again {
		lines, err = c.begin(f, info)
	} else {
		lines, err = c.add(f, info.Size())
	}
	c.info = info
	return lines, again, err
}

func (c *cursor) begin(f io.ReaderAt, info fs.FileInfo) (lines [][]byte, err error) {
	*c = cursor{}
	size := info.Size()
	if size <= whole {
		return c.add(f, size)
	}
	head := make([]byte, headLimit)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	first, _, ends := bytes.Cut(head, []byte("\n"))
	b, err := section(f, size-tail, size)
	if err != nil {
		return nil, err
	}
	c.cut, c.read = true, size-tail+int64(bytes.IndexByte(b, '\n'))+1
	lines, err = c.add(f, size)
	if ends && len(bytes.TrimSpace(first)) > 0 {
		lines = append([][]byte{first}, lines...)
	}
	return lines, err
}

// add reads the lines up to an offset, without line ends. An incomplete last line of a small
// file is read if it is JSON: some files have only one line.
func (c *cursor) add(f io.ReaderAt, to int64) (lines [][]byte, err error) {
	b, err := section(f, c.read, to)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(b) {
		text, ends := bytes.CutSuffix(line, []byte("\n"))
		if !ends && (to > small || !json.Valid(line)) {
			break
		}
		c.read += int64(len(line))
		if len(bytes.TrimSpace(text)) > 0 {
			lines = append(lines, text)
		}
	}
	return lines, nil
}

func section(f io.ReaderAt, from, to int64) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(f, from, to-from))
}
