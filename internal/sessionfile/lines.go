package sessionfile

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
)

const (
	// whole is the longest file that is read completely, in bytes: a day's work. Of a longer file,
	// the first line and the last tail bytes are read.
	whole = 4 << 20
	tail  = 2 << 20
	// headLimit bounds the first line of such a file.
	headLimit = 256 << 10
	// small files are read again when they change, since some are rewritten.
	small = 64 << 10
)

// cursor is a position in a file. The zero value is before the first reading.
type cursor struct {
	info fs.FileInfo // at the last reading
	read int64       // offset after the last complete line
	cut  bool        // the middle was skipped
}

func (c *cursor) same(info fs.FileInfo) bool {
	return c.info != nil && os.SameFile(c.info, info) && c.info.Size() == info.Size() && c.info.ModTime().Equal(info.ModTime())
}

// grown reports whether the part read before still exists.
func (c *cursor) grown(info fs.FileInfo) bool {
	return c.info != nil && os.SameFile(c.info, info) && info.Size() >= c.info.Size() && info.Size()-c.read <= tail
}

// next returns the lines added since the last call, or all lines of a new file. It starts over with
// a file that is small, was replaced, or has grown a lot.
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

// add reads the lines up to an offset, without line ends. It reads an incomplete last line of a
// small file if the line is JSON: some files have only one line.
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
