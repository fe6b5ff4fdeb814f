package state

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// replace puts text in place of the file at path, or leaves the file as it is:
// a temporary file beside it, fsync, rename, fsync of the folder. replaced
// without a nil error means that the new file is there and may not survive a
// crash of the machine.
func replace(path string, text []byte) (replaced bool, err error) {
	folder := filepath.Dir(path)
	f, err := renameio.NewPendingFile(path, renameio.WithTempDir(folder), renameio.WithStaticPermissions(0o600))
	if err != nil {
		return false, fmt.Errorf("write %s: %w", path, err)
	}
	defer f.Cleanup()
	if _, err := f.Write(text); err != nil {
		return false, fmt.Errorf("write %s: %w", path, err)
	}
	if err := f.CloseAtomicallyReplace(); err != nil {
		return false, fmt.Errorf("write %s: %w", path, err)
	}
	if err := syncFolder(folder); err != nil {
		return true, fmt.Errorf("write %s: it is written and may not survive a crash: %w", path, err)
	}
	return true, nil
}

func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// backup keeps the state file as it is beside it, before it is written whole for the
// first time: so looking, and an apply with nothing to do, leave an older and more
// telling one alone. It costs no copy where the file system has links.
func backup(path string) error {
	link := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"0") // sweep takes it away
	err := removeFile(link)
	if err == nil {
		err = os.Link(path, link)
	}
	if err == nil {
		return os.Rename(link, backupOf(path))
	}
	b, err := readRegular(path)
	if err == nil {
		_, err = replace(backupOf(path), b)
	}
	if err != nil {
		return fmt.Errorf("back up state: %w", err)
	}
	return nil
}

// sweep removes the temporary files of writers that were killed. The caller
// holds the lock, so nobody is writing.
func sweep(path string) {
	left, _ := filepath.Glob(filepath.Join(globQuote(filepath.Dir(path)), "."+globQuote(filepath.Base(path))+"[0-9]*"))
	for _, f := range left {
		os.Remove(f)
	}
}

// globQuote takes the meaning from the characters that Glob knows.
func globQuote(s string) string {
	var b []byte
	for i := range len(s) {
		switch s[i] {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return string(b)
}
