package history

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestKeep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	at := time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)
	if err := AppendScreen(dir, at, "r1", "nothing", " \n\n"); err != nil {
		t.Fatal(err)
	}
	if err := AppendScreen(dir, at, "r1", "idle → blocked", "\n\nhello  \n\n\n\nallow? y/n\n\n"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, TranscriptName))
	if want := "--- 2026-03-14T09:26:53Z run r1: idle → blocked\nhello\n\nallow? y/n\n"; err != nil || string(got) != want {
		t.Errorf("kept %q, %v, want %q", got, err, want)
	}
	if got := LastScreen(dir); got != "hello\n\nallow? y/n" {
		t.Errorf("the last screen is %q", got)
	}
	if err := AppendScreen(dir, at, "r2", "stopped", "--- one\n--- run: two"); err != nil {
		t.Fatal(err)
	}
	if got := LastScreen(dir); got != "--- one\n--- run: two" {
		t.Errorf("the last screen is %q", got)
	}
	if got := LastScreen(t.TempDir()); got != "" {
		t.Errorf("without a transcript the last screen is %q", got)
	}
	if err := AppendScreen(dir, at, "r1", "much", strings.Repeat("x\n", 1<<20)); err != nil {
		t.Fatal(err)
	}
	if i, err := os.Stat(filepath.Join(dir, TranscriptName)); err != nil || i.Size() > 50<<10 || i.Mode().Perm() != 0o600 {
		t.Errorf("%d bytes, mode %v, %v", i.Size(), i.Mode(), err)
	}
}

// Several that keep at once lose nothing that is not too old, whenever a file is full.
func TestKeptAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), TranscriptName)
	const writers, lines = 8, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range lines {
				if err := appendTranscript(path, fmt.Sprintf("%d %02d %s\n", w, n, strings.Repeat("x", 40)), 2000); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	seen := 0
	for _, name := range []string{path, path + ".1", path + ".2", path + ".3"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 2000 || name != path && len(b) < 1900 {
			t.Errorf("%s has %d bytes", name, len(b))
		}
		seen += strings.Count(string(b), "\n")
	}
	if _, err := os.Stat(path + ".4"); err == nil {
		t.Error("a fifth file is kept")
	}
	if total := writers * lines; seen > total || seen < total*3/5 {
		t.Errorf("%d of %d are kept", seen, total)
	}
}
