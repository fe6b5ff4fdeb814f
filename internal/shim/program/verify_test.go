package program

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestLog checks that of what is printed at length the end is kept, and replied.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second replaces it
		l, err := newLog(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer l.file.Close()
		var all bytes.Buffer
		line := strings.Repeat("x", 1000)
		for i := range 40_000 {
			text := fmt.Sprintf("%s %d\n", line, i)
			all.WriteString(text)
			if n, err := l.Write([]byte(text)); n != len(text) || err != nil || l.err != nil {
				t.Fatal(n, err, l.err)
			}
		}
		kept, err := os.ReadFile(l.file.Name())
		if err != nil || len(kept) < verifyLog/2-len(line) || len(kept) > verifyLog || !bytes.HasSuffix(all.Bytes(), kept) {
			t.Errorf("%d bytes are kept of %d, %v", len(kept), all.Len(), err)
		}
		if end := l.end(); len(end) > verifyOutput || !strings.HasSuffix(all.String(), end+"\n") || strings.Count(end, "\n") < 8 {
			t.Errorf("the end is %q", end)
		}
	}
}

// TestEndOfLog checks which lines of a log are replied.
func TestEndOfLog(t *testing.T) {
	many := strings.Repeat("line\n", 150)
	for text, want := range map[string]string{
		"": "", "a": "a", "a\nb\n\n": "a\nb", "\xffa": "a", many: strings.TrimSuffix(many[:100*len("line\n")], "\n"),
	} {
		l, err := newLog(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = l.Write([]byte(text)) // it returns no error
		if got := l.end(); got != want {
			t.Errorf("%q ends with %q", text, got)
		}
		if err := l.file.Close(); err != nil {
			t.Error(err)
		}
	}
}
