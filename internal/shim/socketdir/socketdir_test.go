package socketdir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketDir(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	data := t.TempDir()
	dir, err := Create(data)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Create(data + "/.")
	if err != nil || again != dir || filepath.Dir(dir) != filepath.Join(runtime, "agentform") || len(filepath.Base(dir)) != 8 {
		t.Errorf("folders are %s and %s (%v)", dir, again, err)
	}
	if other, _ := Create(t.TempDir()); other == dir {
		t.Error("two data folders have one socket folder")
	}
	os.Chmod(dir, 0o755)
	Create(data)
	if info, _ := os.Stat(dir); info.Mode() != os.ModeDir|0o700 {
		t.Errorf("mode is %v", info.Mode())
	}
	os.Remove(dir)
	os.Symlink(t.TempDir(), dir)
	if _, err := Create(data); err == nil {
		t.Error("a link is taken")
	}
	t.Setenv("XDG_RUNTIME_DIR", "/tmp/"+strings.Repeat("x", 90))
	if _, err := Create(data); err == nil || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
		t.Errorf("a path that is too long: %v", err)
	}
}

func TestSocketsAreFoundAgain(t *testing.T) {
	data, first, second := filepath.Join(t.TempDir(), "data"), short(t), short(t)
	t.Setenv("XDG_RUNTIME_DIR", first)
	dir, err := Create(data)
	if err != nil {
		t.Fatal(err)
	}
	if err := Remember(data, dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", second)
	if again, err := Create(data); err != nil || again != dir {
		t.Errorf("with another XDG_RUNTIME_DIR it is %s, %v, want %s", again, err, dir)
	}

	// A copy of the data directory has sockets of its own.
	copied := filepath.Join(t.TempDir(), "data")
	if err := Remember(copied, dir); err != nil {
		t.Fatal(err)
	}
	if other, err := Create(copied); err != nil || filepath.Dir(filepath.Dir(other)) != second {
		t.Errorf("a copy has %s, %v", other, err)
	}

	// A directory that is gone after a reboot is recreated where it now belongs.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if fresh, err := Create(data); err != nil || filepath.Dir(filepath.Dir(fresh)) != second {
		t.Errorf("after it was gone it is %s, %v", fresh, err)
	}
}

// short returns a directory with a short path: a unix socket's may have 107 bytes.
func short(t *testing.T) string {
	dir, err := os.MkdirTemp("/tmp", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
