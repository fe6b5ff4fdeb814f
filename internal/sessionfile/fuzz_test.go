package sessionfile

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzLines checks that reading a growing file returns the same lines as reading the complete one,
// and that no line contains another.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n{\"a\":1}\n"), []byte("{\"b\":2}\n{"))
	f.Add([]byte("{\"a\":"), []byte("1}\n\n\n \n"))
	f.Add(bytes.Repeat([]byte("{\"a\":1}\n"), 9000), []byte("[]\n"))
	f.Fuzz(func(t *testing.T, first, more []byte) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		read := func(c *cursor, told [][]byte) [][]byte {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			info, err := file.Stat()
			if err != nil {
				t.Fatal(err)
			}
			lines, again, err := c.next(file, info)
			if err != nil {
				t.Fatal(err)
			}
			if again {
				return lines
			}
			return append(told, lines...)
		}
		var growing cursor
		var grown [][]byte
		for _, text := range [][]byte{first, append(bytes.Clone(first), more...)} {
			file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.Write(text); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			grown = read(&growing, grown)
		}
		whole := read(new(cursor), nil)
		if len(first)+len(more) <= tail && !bytes.Equal(bytes.Join(grown, []byte("\n")), bytes.Join(whole, []byte("\n"))) {
			t.Errorf("grown %q, whole %q", grown, whole)
		}
		for _, line := range whole {
			if bytes.IndexByte(line, '\n') >= 0 || len(bytes.TrimSpace(line)) == 0 {
				t.Errorf("a line is %q", line)
			}
		}
	})
}
