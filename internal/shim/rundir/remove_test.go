package rundir

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestRemoveRun(t *testing.T) {
	gone := func(path string) bool { _, err := os.Lstat(path); return os.IsNotExist(err) }
	t.Run("with the socket that a killed shim left", func(t *testing.T) {
		top, err := os.MkdirTemp("", "g") // short, for socket paths
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		c := Config{Run: "00112233445566aa", Dir: top, Socket: filepath.Join(top, "g-00112233445566aa"), Argv: []string{"true"}}
		dir := filepath.Join(top, c.Run)
		if err := Prepare(dir, c, map[string]string{"KEY": "x"}); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("unix", c.Socket)
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
		if err := Remove(dir); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(top); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
		if err := Remove(dir); err != nil {
			t.Errorf("a second time: %v", err)
		}
	})
	t.Run("shared with a container", func(t *testing.T) {
		top := t.TempDir()
		to, link := filepath.Join(top, "containers", "c", "runs", "00112233445566aa"), filepath.Join(top, "00112233445566aa")
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if err := Remove(link); err != nil || !gone(to) || !gone(link) {
			t.Errorf("%v; gone: %v, %v", err, gone(to), gone(link))
		}
	})
	t.Run("a link to something else", func(t *testing.T) {
		top, other := t.TempDir(), t.TempDir()
		link := filepath.Join(top, "00112233445566aa")
		if err := os.Symlink(other, link); err != nil {
			t.Fatal(err)
		}
		if err := Remove(link); err == nil || gone(other) {
			t.Errorf("%v; gone: %v", err, gone(other))
		}
	})
	t.Run("no run", func(t *testing.T) {
		if err := Remove(t.TempDir() + "/.."); err == nil {
			t.Error("a path that names no run was removed")
		}
	})
}
