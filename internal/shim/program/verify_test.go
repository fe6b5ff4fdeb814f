package program

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLog checks that the end of a long output is kept and returned.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second replaces it
		l := newLog(dir)
		defer l.close()
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

// TestEndOfLog checks which lines of a log are returned.
func TestEndOfLog(t *testing.T) {
	many := strings.Repeat("line\n", 150)
	for text, want := range map[string]string{
		"": "", "a": "a", "a\nb\n\n": "a\nb", "\xffa": "a", many: strings.TrimSuffix(many[:100*len("line\n")], "\n"),
	} {
		l := newLog(t.TempDir())
		_, _ = l.Write([]byte(text)) // it returns no error
		if got := l.end(); got != want {
			t.Errorf("%q ends with %q", text, got)
		}
		l.close()
	}
}

// TestLogThatCannotBeWritten checks that the reply then has the output and the reason.
func TestLogThatCannotBeWritten(t *testing.T) {
	gone := newLog(filepath.Join(t.TempDir(), "gone"))
	closed := newLog(t.TempDir())
	closed.close() // as on a full disk
	for name, l := range map[string]*log{"it cannot be created": gone, "it ends early": closed} {
		defer l.close()
		for range 3000 {
			_, _ = l.Write([]byte("a line\n")) // it returns no error
		}
		if end := l.end(); !strings.HasPrefix(end, "a line\na line\n") || !strings.Contains(end, "\nagentform: the log is incomplete: ") || len(end) > verifyOutput {
			t.Errorf("%s: %q", name, end)
		}
	}
	if gone.name() != "" || closed.name() == "" {
		t.Errorf("the logs are %q and %q", gone.name(), closed.name())
	}
}
