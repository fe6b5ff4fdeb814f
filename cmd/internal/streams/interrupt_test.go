package streams

import (
	"io"
	"os"
	"testing"
)

func TestReaderGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if ReaderGone(w) || ReaderGone(io.Discard) {
		t.Error("the reader of an open pipe is gone")
	}
	r.Close()
	if !ReaderGone(w) {
		t.Error("the reader of a closed pipe is there")
	}
}
