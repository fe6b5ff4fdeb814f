// Package excerpt keeps a part of what is written, as by a program that may print without an end.
package excerpt

import (
	"bytes"
	"strings"
	"sync"
)

// Head keeps the beginning of what is written to it.
type Head struct {
	Limit int   // in bytes
	Full  error // is returned by a Write beyond Limit; nil: the rest is dropped
	// kept is not embedded: os/exec copies output by ReadFrom, and that of a bytes.Buffer has no
	// limit.
	kept bytes.Buffer
	over bool
}

// Write keeps what fits of the text.
func (h *Head) Write(p []byte) (int, error) {
	room := h.Limit - h.kept.Len()
	h.kept.Write(p[:min(len(p), room)])
	if len(p) <= room {
		return len(p), nil
	}
	h.over = true
	if h.Full != nil {
		return room, h.Full
	}
	return len(p), nil
}

// Bytes returns what is kept, until the next Write.
func (h *Head) Bytes() []byte { return h.kept.Bytes() }

// String returns what is kept.
func (h *Head) String() string { return h.kept.String() }

// Over reports whether more was written than is kept.
func (h *Head) Over() bool { return h.over }

// Tail keeps the end of what is written to it, from many goroutines.
type Tail struct {
	Limit int // in bytes

	mu   sync.Mutex
	kept bytes.Buffer
}

// Write keeps the end of the text.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept.Write(p)
	t.kept.Next(max(0, t.kept.Len()-t.Limit))
	return len(p), nil
}

// String returns what is kept, as valid UTF-8.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(t.kept.String(), "")
}
