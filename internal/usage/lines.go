package usage

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

const (
	chunk = 256 << 10 // how much is read at once, in bytes
	// lineLimit is the longest line that is examined, in bytes. Agents write a tool's output as one
	// line.
	lineLimit = 64 << 20
)

var readers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, chunk) }}

// lines calls take with each complete line from an offset on, without its end, and the offset after
// it. The text is valid until take returns. lines returns the offset after the last line taken.
func lines(f io.ReaderAt, from int64, take func(text []byte, end int64) error) (int64, error) {
	r := readers.Get().(*bufio.Reader)
	defer readers.Put(r)
	r.Reset(io.NewSectionReader(f, from, 1<<62))
	var long []byte // the start of a line longer than a chunk
	tooLong := false
	at := from
	for {
		part, err := r.ReadSlice('\n')
		at += int64(len(part))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if tooLong = tooLong || len(long)+len(part) > lineLimit; tooLong {
				long = nil
			} else {
				long = append(long, part...)
			}
			continue
		case errors.Is(err, io.EOF):
			return from, nil // the rest is incomplete
		case err != nil:
			return from, err
		}
		text := part
		if long != nil {
			text = append(long, part...)
		}
		from = at
		if !tooLong {
			if err := take(text[:len(text)-1], from); err != nil {
				return from, err
			}
		}
		long, tooLong = nil, false
	}
}
