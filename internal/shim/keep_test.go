package shim

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSocketsAreFoundAgain(t *testing.T) {
	data, first, second := filepath.Join(t.TempDir(), "data"), short(t), short(t)
	t.Setenv("XDG_RUNTIME_DIR", first)
	dir, err := SocketDir(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := KeepSocketDir(data, dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", second)
	if again, err := SocketDir(data); err != nil || again != dir {
		t.Errorf("with another XDG_RUNTIME_DIR it is %s, %v, want %s", again, err, dir)
	}

	// A copy of the data folder has sockets of its own.
	copied := filepath.Join(t.TempDir(), "data")
	if err := KeepSocketDir(copied, dir); err != nil {
		t.Fatal(err)
	}
	if other, err := SocketDir(copied); err != nil || filepath.Dir(filepath.Dir(other)) != second {
		t.Errorf("a copy has %s, %v", other, err)
	}

	// What is gone, after a reboot, is made anew where it belongs now.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if fresh, err := SocketDir(data); err != nil || filepath.Dir(filepath.Dir(fresh)) != second {
		t.Errorf("after it was gone it is %s, %v", fresh, err)
	}
}

// short is a folder with a short path: a unix socket's may have 107 bytes.
func short(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
