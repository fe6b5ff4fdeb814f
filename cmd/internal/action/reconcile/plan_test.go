package reconcile

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteOwn checks that a plan is written to a pipe, and does not take its place.
func TestWriteOwn(t *testing.T) {
	file, pipe := filepath.Join(t.TempDir(), "plan"), filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(pipe)
		read <- string(text)
	}()
	for _, path := range []string{pipe, file, file} {
		if err := writeOwn(path, []byte("plan")); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Fatalf("the pipe is %v: %v", info.Mode(), err)
	}
	if got := <-read; got != "plan" {
		t.Errorf("it has %q", got)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v: %v", info.Mode(), err)
	}
}
