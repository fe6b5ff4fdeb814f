package history

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// Whatever stands in the place of a history or a transcript, reading it ends, in bounded
// memory, and nothing is written through a link.
func TestAnythingInTheFolder(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"link": func(path string) error {
			return os.Symlink(filepath.Join(filepath.Dir(filepath.Dir(path)), "victim"), path)
		},
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"sparse": func(path string) error {
			f, err := os.Create(path)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Truncate(3 << 30)
		},
		"long": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("no event\n"), 8<<20), 0o600) },
	} {
		for _, file := range []string{fileName, TranscriptName} {
			t.Run(name+" "+file, func(t *testing.T) {
				folder := filepath.Join(t.TempDir(), "session")
				victim := filepath.Join(filepath.Dir(folder), "victim")
				if err := os.Mkdir(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(victim, []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := put(filepath.Join(folder, file)); err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				e := Event{Time: time.Unix(1, 0), Kind: Launched}
				_, _ = Read(folder, time.Time{})
				_, _ = TailOf(folder).More()
				_, _ = Trim(folder, time.Unix(2, 0))
				_, _ = Update(folder, func([]Event) []Event { return []Event{e} })
				_ = Append(folder, e)
				_ = AppendScreen(folder, time.Unix(1, 0), "run", "why", "screen")
				runtime.ReadMemStats(&after)
				if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 1024 {
					t.Errorf("it took %d MiB", took)
				}
				if text, err := os.ReadFile(victim); err != nil || string(text) != "mine" {
					t.Errorf("the file behind the link has %q, %v", text, err)
				}
			})
		}
	}
}

// A session's directory that is a link leads nowhere.
func TestAFolderThatIsALink(t *testing.T) {
	there := t.TempDir()
	folder := filepath.Join(t.TempDir(), "session")
	if err := os.Symlink(there, folder); err != nil {
		t.Fatal(err)
	}
	if Append(folder, Event{Kind: Launched}) == nil || AppendScreen(folder, time.Now(), "run", "why", "screen") == nil {
		t.Error("it was written")
	}
	if left, err := os.ReadDir(there); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
