package view

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files, and the examples in docs/json.md, anew")

// at is the time of everything in these tests.
var at = time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.UTC)

// golden compares the output of write with testdata/NAME.
func golden(t *testing.T, name string, write func(io.Writer) error) {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}

// styles compares a text with its golden files: plain as in a pipe, in colour on a terminal of 100
// columns, and, with narrow, of 60.
func styles(t *testing.T, name string, narrow bool, write func(io.Writer, Style) error) {
	t.Helper()
	all := map[string]Style{".txt": {}, ".color.txt": {Color: true, Width: 100}}
	if narrow {
		all[".narrow.txt"] = Style{Width: 60}
	}
	for suffix, s := range all {
		golden(t, name+suffix, func(w io.Writer) error { return write(w, s) })
	}
}
