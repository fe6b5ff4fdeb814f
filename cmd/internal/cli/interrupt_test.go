package cli

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
	if readerGone(w) || readerGone(io.Discard) {
		t.Error("the reader of an open pipe is gone")
	}
	r.Close()
	if !readerGone(w) {
		t.Error("the reader of a closed pipe is there")
	}
}
