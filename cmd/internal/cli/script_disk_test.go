//go:build real

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// disk new|full|room|readonly|writable FOLDER: new puts a small disk of its own below the
// directory, which the others fill and empty again, or make read-only and writable again.
// Only root mounts one; for anybody else the directory's rights stand for the disk's.
func disk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: disk new|full|room|readonly|writable FOLDER")
	}
	dir := ts.MkAbs(args[1])
	filling := filepath.Join(dir, "filling")
	if os.Getuid() != 0 {
		switch args[0] {
		case "new":
			ts.Check(os.Mkdir(dir, 0o700))
		case "full", "readonly":
			ts.Check(os.Chmod(dir, 0o500))
		default:
			ts.Check(os.Chmod(dir, 0o700))
		}
		return
	}
	switch args[0] {
	case "new":
		ts.Check(os.Mkdir(dir, 0o700))
		ts.Check(mount("none", dir, "tmpfs", 0, "size=24m,mode=700"))
		ts.Defer(func() { ts.Check(unmount(dir)) })
	case "full":
		f, err := os.Create(filling)
		ts.Check(err)
		block := make([]byte, 4096)
		for err == nil {
			_, err = f.Write(block)
		}
		ts.Check(f.Close())
		if !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
			ts.Fatalf("fill %s: %v", dir, err)
		}
	case "room":
		ts.Check(os.Remove(filling))
	case "readonly":
		ts.Check(remount(dir, true))
	case "writable":
		ts.Check(remount(dir, false))
	default:
		ts.Fatalf("disk %s: what is that?", args[0])
	}
}
